"""What answers a chat, and what its wires share.

It imports only `conversation`. Start with `updates`: it decodes the objects of the Agent Client Protocol, which every
back end sends, into the events of `conversation.events`; `wire` has the base of the models, `sessions` what a chat
knows of them.
"""
