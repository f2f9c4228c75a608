"""One proposed change from its proposal to its single outcome, and the comparison of the two texts.

It may import `clis` and the shared modules. It never touches the editor; `port` says what it needs from one. Start
with `reviews`, which holds the open reviews; `review` is one of them. `compare`, `words` and `changes` find what
differs, `marks` says where to draw it, `source_text` and `disk` preserve a file's bytes.
"""
