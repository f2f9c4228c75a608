"""The server that a CLI talks to: MCP over HTTP on the loopback interface, one for each window."""
