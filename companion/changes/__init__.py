"""What agents have written already, and each change kept or undone.

It may import `snapshots`, `review` and the shared modules, and never touches the editor; `change_screen` says what it
needs from one. Start with `rounds`, which runs on the companion thread; `roots` has the windows and their folders,
`starting` says how a round begins, `decisions` has what the person does, and `since` compares with a commit.
`moving` brings what is known of a folder from one root to another one. `folder` brings calls to the worker thread of
one folder: its `round`, `saves`, `undo` and `checkpoints`, which block. `lines` finds a file's changes and whose
lines they are, and `rows` makes the list.
"""
