"""The review on the screen: what agents propose, and what they have written.

Start with `review_tabs`: the Review, a tab with all that waits for a decision in a window, by turn and by file;
`review_tab` is one. `feed` gathers what is in it, `decisions` makes what the keys decide. What a line is, and how the
lines are made, is in companion/review/document.py.

A proposal is one of `diffs`, on the screen a `diff_view` with its `header`; `answers` knows what the person has seen,
reverts and restores its changes, and answers it. What is written already is in the person's own files: `written` has
all of it, `written_view` one file's; `unsaved` knows what tabs were loaded from, and asks what becomes of text in one
that an agent has written below. Both draw and go on with `diff_marks`, and are shown `side_by_side`. `review_commands`
has all commands.

The UI never decides: it posts what the person does, and closes when it is told to. Nothing is accepted unseen: keys,
saves and clicks count only after the person has gone to the diff and it has been on the screen for a second, which
begins again when it comes back because another diff has closed. A diff opens beside the focused view, or behind the
diff that has the focus.

A command on the changes of a proposal is queued, and its edits are computed on another thread; if the text has changed
in the meantime, once more. A link names its change by a fingerprint, so it can't hit another one. Side by side the
editor's own gutter marks are off, as they would repeat ours a line apart; inline it is the other way round. Each header
has several forms, for views of several widths.
"""
