"""How CLIs come in that don't speak MCP over HTTP on the window's port, which `http` does.

A door has its discovery file, its token, its wire and its names of tools and notifications, and nothing else: what it
tells and does is the window's, the `WindowServer` of `window`, the same for all. Its sessions are in `CliSessions`, the
diffs that it opens in `Reviews`. Start with `claude`: what Claude Code and OpenCode say. `websocket` has their wire.
"""
