"""One proposed change from its proposal to its single outcome, and the comparison of the two texts.

It may import `clis` and the shared modules. It never touches the editor; `review_screen` says what it needs from one.
Start with `reviews`, which holds the open reviews, compares their texts away from the loop, and waits until what was
accepted is written; `review` is one of them, and carries itself over a reload. `compare` finds what differs between
lines and in them, `changes` undoes and makes single changes, `marks` says where to draw them, `disk` preserves a file's
bytes, and `document` is the text of the Review.

One outcome: the first of accept, reject, the CLI's `closeDiff` and the end of its session counts, decided on the
companion thread; the views close when it says so. Bytes: a view knows only line feeds and no byte order mark, so
`disk` remembers what the proposal had. An unedited proposal goes back as the string that came; in an edited
one, untouched lines keep their endings. Only regular files of up to 64 MB are read, and each review looks at its file
by itself, so that one that hangs disturbs no other.

Lines are compared on a thread of the executor: anchored on lines that occur once on both sides, between the anchors by
a longest common subsequence in big integers, with an effort limited in proportion to the lines
(docs/dev/decisions/0004-own-comparison.md). Groups of lines are placed as git's indent heuristic does.
"""
