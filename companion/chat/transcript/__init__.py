"""A conversation as text: from a snapshot to edits of the chat's view, with folds, links, code blocks and questions.

It may import `conversation` and `review`, and knows nothing of a transport or an editor. Start with `transcript`: it
takes snapshots and gives a `render` for each. `turn_text` and `pieces` keep the text of a turn, `wording` has the
chat's own lines, `markdown` finds code blocks and file names in an answer.
"""
