"""The state of a conversation with an agent, whatever transport carries it.

It imports nothing of the package but its own modules, and knows neither a network nor an editor. Start with
`conversation`: events go in, a snapshot comes out. `events` has what an agent says and the history that it gives,
`conversation` what each event changes in which turn, and `snapshot` has the immutable values to show, with what turns
have changed in files. `forms` and `failures` are shared with whoever asks and fails.

Nothing waits for a view: each event goes in at once, and a view takes a snapshot when it has time, with the turns that
have changed, so no queue can grow. Nothing twice, nothing lost: an agent gives each event once, and after a gap the
conversation is loaded again in one step. History is not the stream: it has merged events, where a tool call has its
result before the question whether it may run. A long history is read from its end and the earlier pages as they are
scrolled to.
"""
