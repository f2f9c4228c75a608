"""The problems that the editor shows: errors and warnings of language servers, of linters, of a build.

Start with `diagnostic`: one problem, as every reader gets it. `shown` is what was read of the editor, which is made
into problems away from the UI thread; `formats` knows how each of the other packages has them. `quiet` waits until a
server has looked at what has changed, `message` makes the text for an agent. The room
imports no library.
"""
