"""Snapshots of a folder in a private store, byte for byte, and the folder's files written as a snapshot has them.

It may import `review` and the shared modules, and never touches the editor. Everything here blocks and runs
on the worker thread of one folder. Start with `store`, which takes snapshots with `git`; `objects` has what is in them,
`copies` brings the files of a baseline into the store after its ids, `project` reads the person's own repository and
its ignore rules as files, `files` reads and writes the folder, and `entries` says what a snapshot knows of a file.
"""
