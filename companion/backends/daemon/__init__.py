"""The client of `qwen serve`.

It may import what both back ends share, `conversation`, `clis` and the shared modules. Facts:
docs/protocols/qwen-serve.md. Start with `client`, which is made of parts such as `sessions` and `rewind`, each with one
method for each route. `routes` and `transport` carry the requests, `sse` the stream, `decoder` makes events of it,
`answers` and `refusals` read what comes back, `errors` has one class for each failure, `locality` says where a daemon
runs, and `process` starts one of our own.

Features, never the version, decide what is offered. A daemon that was away may be another one: if its address, its
session or its bus is new, the connection asks again what is there and where it is. A long answer is read piece by
piece on another thread, since the parser of the standard library would hold the interpreter.
"""
