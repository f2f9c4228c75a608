"""HTTP on a window's port: connections that a reload hands over, and the ways to an answer.

It may import the rest of `server`, but `window`. Start with `app`: it finds the session of each request that `access`
lets in. The SDK answers a request unless `calls` does: see `app.FAST`.
`connections` has the clients, `acceptor` accepts them, `bodies` counts what they send, and `resumed` translates the ids
from before a reload.
"""
