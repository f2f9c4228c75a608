"""What agents have written already, and each change kept or undone.

It may import `snapshots`, `review` and the shared modules, and never touches the editor; `change_screen` says what it
needs from one. Start with `rounds`, which runs on the companion thread; `roots` has the windows and their folders,
`starting` and `scanning` say when a round begins and when to scan, `decisions` has what the person does, and `since`
compares with a commit. `subtraction` takes a decision back out of the baseline.
`moving` brings what is known of a folder from one root to another one. `folder` brings calls to the worker thread of
one folder: its `round`, `saves`, `undo` and `checkpoints`, which block. `hunks` finds a file's changes, and `rows`
makes the list.
"""
