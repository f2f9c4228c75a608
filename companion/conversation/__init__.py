"""The state of a conversation with an agent, whatever transport carries it.

It imports nothing of the package but its own modules, and knows neither a network nor an editor. Start with
`conversation`: events go in, a snapshot comes out. `events` has what an agent says, `reducer` what each event changes
in the `state`, `turns` builds a turn, and `snapshot` has the immutable values to show.
"""
