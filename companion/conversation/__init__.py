"""The state of a conversation with an agent, whatever transport carries it.

It imports nothing of the package but its own modules, and knows neither a network nor an editor. Start with
`conversation`: events go in, a snapshot comes out. `agent` has the objects of the Agent Client Protocol, made with
`parts`, `events` the envelope that `qwen serve` puts around them, `taking` what each event changes, `turns` builds a
turn, and `snapshot` has the immutable values to show.
"""
