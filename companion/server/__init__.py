"""The server that a CLI talks to: MCP over HTTP on the loopback interface, one for each window.

It may import `review`, `clis`, `problems` and the shared modules, and never `chats` or `status`. Start with `window`:
it runs one window's server. `endpoint` has the port, tokens and discovery files, `http` answers each request,
`sessions` has the connected CLIs, `tools` offers openDiff and closeDiff, and `context` describes the open files for a
CLI.

Context is pulled: an event only says that something may have changed. After 50 ms without another one the companion
asks the editor once, and sends a context only if a CLI would notice. A tick every 2 s catches what no event tells:
folders, renamed and removed files; it asks the 40 views that had the focus last.

The SDK shakes hands, opens streams and answers everything unusual. The calls of the tools and the notifications are
answered without it, byte for byte as it would (docs/dev/performance.md). Notifications wait until the stream is open,
and one counts as sent when it has been written to the connection. CLIs never say goodbye: a session whose stream has
been gone for 10 s ends. MCP 2026-07-28 has no stream for our notifications, so we name the versions that are supported,
and clients fall back to the handshake.
"""
