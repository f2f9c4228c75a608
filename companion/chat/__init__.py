"""The chats of all windows: what is sent, what is asked, and what is shown.

It may import `daemon`, `conversation`, `review` and the shared modules, and never `server`. Start with `chats`, which
the commands call; `window_chat` is one window's chat. `connection` reaches the daemon and reads a session, `outbox`
sends prompts, `permissions` turns questions about files into reviews, and `transcript` makes the text of a
conversation.
"""
