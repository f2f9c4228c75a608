"""What answers a chat, and what its wires share.

It imports `conversation` and, in its rooms, what they need. Start with `backend`: the protocol of a back end, a small
core and the `parts` that it has or hasn't. `daemon` and `acp` are the two back ends; only `connector`, which reaches
one for a chat, and `daemons`, which has a window's private ones, import them. `port` is what an agent needs of the
editor. `updates` decodes the objects of the Agent Client Protocol, which both send, into the events of
`conversation.events`; `wire` has the base of the models, `sessions` what a chat knows of sessions.
"""
