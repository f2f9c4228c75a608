"""HTTP on a window's port: connections that a reload hands over, and the ways to an answer.

It may import the rest of `server`, but `window`. Start with `app`: it checks each request and finds its session. The
SDK answers a request unless `calls` does, which `quick` may have read without h11: see `app.FAST`. `connections` has
the clients, `acceptor` accepts them, `bodies` counts what they send, and `resumed` translates the ids from before a
reload.
"""
