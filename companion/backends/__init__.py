"""What answers a chat, and what its wires share.

It imports `conversation` and, in its rooms, what they need. Start with `agent`: the interface of whatever answers, with
what some can do and others can't, and what it needs of the editor and of its window. `daemon` and `acp` implement it;
only `connector`, which reaches one for a chat and has a window's private daemons, imports them. `updates` decodes the
objects of the Agent Client Protocol, which both send, into the events of `conversation.events`; `wire` has the base of
the models, `children` the processes that we start.
"""
