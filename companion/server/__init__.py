"""The server that a CLI talks to: MCP over HTTP on the loopback interface, one for each window.

It may import `review`, `clis` and the shared modules, and never `chat`, `daemon` or `status`. Start with `window`: it
runs one window's server. `endpoint` has the port, tokens and discovery files, `app` checks each request, `sessions` has
the connected CLIs, `tools` offers openDiff and closeDiff, and `context` describes the open files for a CLI.
"""
