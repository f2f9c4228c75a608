"""The client of `qwen serve`.

It may import `conversation`, `clis` and the shared modules. Facts: docs/protocols/qwen-serve.md. Start with `client`:
one method for each route. `transport` and `sse` carry the requests and the stream, `answers` and `refusals` read what
comes back, `errors` has one class for each failure, `locality` says where a daemon runs, and `process` starts one of
our own.

Features, never the version, decide what is offered. A daemon that was away may be another one: if its address, its
session or its bus is new, the connection asks again what is there and where it is. A long answer is read piece by
piece on another thread, since the parser of the standard library would hold the interpreter.
"""
