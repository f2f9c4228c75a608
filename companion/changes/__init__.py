"""What agents have written already: snapshots of a window's folders, and each change kept or undone.

It may import `review`, `garbage` and the shared modules, and never touches the editor; `port` says what it needs from
one. Start with `rounds`, which runs on the companion thread; `roots` has the windows and their folders, `starting` and
`looking` say when a round begins and when to look, and `decisions` has what the person does. `folder` brings calls to
the worker thread of one folder: its `round`, `saves`, `undo` and `checkpoints`, which block. `store` takes snapshots
with `git`, `objects` has what is in them, `own_index` spares it what the person's index has, `files` reads and writes
the folder, `hunks` finds a file's changes, `rows` makes the list, and `project` reads the person's own repository as
files.
"""
