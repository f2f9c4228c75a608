"""The client of `qwen serve`.

It may import `conversation`, `clis` and the shared modules. Facts: docs/protocols/qwen-serve.md. Start with `client`:
one method for each route. `transport` and `sse` carry the requests and the stream, `answers` and `refusals` read what
comes back, `errors` has one class for each failure, `locality` says where a daemon runs, and `process` starts one of
our own.
"""
