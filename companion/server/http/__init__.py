"""HTTP on a window's port: connections that a reload hands over, and the ways to an answer.

It may import the rest of `server`, but `window`. Start with `app`: it finds the session of each request that `access`
lets in, and translates the ids from before a reload. The SDK answers a request unless `app` does: see `app.FAST`.
`connections` accepts the clients and has their connections.
"""
