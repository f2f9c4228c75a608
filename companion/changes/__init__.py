"""What agents have written already: snapshots of a window's folders, and each change kept or undone.

It may import `review`, `garbage` and the shared modules, and never touches the editor. Start with `round`, the round of
one folder: everything here blocks and runs on that folder's worker thread. `undo` and `checkpoints` work on it, `rows`
has what a list shows. `store` takes snapshots with `git`, `files` reads and writes the folder, `hunks` finds a file's
changes, and `project` reads the person's own repository as files.
"""
