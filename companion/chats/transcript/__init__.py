"""A conversation as text: from a snapshot to edits of the chat's view, with folds, links, code blocks and questions.

It may import `conversation` and `review`, and knows nothing of a transport or an editor. Start with `transcript`: it
takes snapshots, keeps the text of each turn in pieces, and gives a `render` for each, whose marks say what is where.
`wording` has the chat's own lines, `markdown` finds code blocks and file names in an answer and aligns its tables.

A render costs the same at any length: only the turns from the first changed one on are visited. Tables are aligned
once they are complete; the end of an answer that may still be shown in another way is written again, everything before
it is only appended to. The chat's own lines begin with a sign and a no-break space, which is removed from the
beginning of all other lines, so they can't be imitated; the syntax relies on it, and scripts/check tests that with
random transcripts.
"""
