"""What answers a chat, and what its wires share."""
