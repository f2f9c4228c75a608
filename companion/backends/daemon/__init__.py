"""The client of `qwen serve`.

It may import what both kinds of agents share, `conversation`, `clis` and the shared modules. Facts:
docs/protocols/qwen-serve.md. Start with `client`, which is the agent of a chat, with one method for each route.
`transport` carries the requests and the stream and turns refusals into errors, `decoder` makes events of the stream and
values of the answers, `errors` has the failures, `address` and `locality` say where a daemon runs, and `private` starts
one of our own.

Features, never the version, decide what is offered. A daemon that was away may be another one: if its address, its
session or its bus is new, the connection asks again what is there and where it is. A long answer is read piece by
piece on another thread, since the parser of the standard library would hold the interpreter.

A private daemon ends with its window, not with a tab. Its output goes to a file, since a pipe would break on a reload;
its token is new for each start, goes by the environment only and is hidden when printed. The variables by which a CLI
finds an editor are taken out of its environment. If the editor is killed, a record without the token lets the next
start end it. No project can name an address, since the token would go there.
"""
