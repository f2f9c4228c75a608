"""The chats of all windows: what is sent, what is asked, and what is shown.

It may import `daemon`, `conversation`, `review` and the shared modules, and never `server`. Start with `chats`, which
the commands call; `chat` is one of them, and `daemons` is what those of a window share. `connector` reaches the daemon
or an agent, `connection` reads a session and tries again, `outbox` sends prompts, `permissions` turns questions about
files into reviews, `renderer` brings the view up to date, and `transcript` makes the text of a conversation.
"""
