"""The review on the screen: what agents propose, and what they have written.

Start with `review_tabs`: the Review, a tab with all that waits for a decision in a window, by turn and by file;
`review_tab` is one, with its `review_marks`. `feed` gathers what is in it, `decisions` makes what the keys decide. What
a line is, and how the lines are made, is in companion/review/document.py.

Proposals: `diffs` has them all; `diff_view` is one, `side` opens each of its two views. `header`, `notes`, `diff_marks`
and `removed_lines` draw, `widths` notices when that has to be done again, `side_by_side` keeps the sides level, `steps`
splits long work on the UI thread. `attention` knows what the person has seen. `kept` and `leftovers` have texts and
tabs that outlive a diff, `left_views` the views that outlive a reload.

Changes that are written already, in the person's own files: `written` marks them and goes from one to the next;
`listings` has what waits, and `written_view` the marks of one view.

The UI never decides: it posts what the person does, and closes when it is told to. Nothing is accepted unseen: keys,
saves and clicks count only after the person has gone to the diff and it has been on the screen for a second, which
begins again when it comes back because another diff has closed. A diff opens beside the focused view, or behind the
diff that has the focus.

A command on the changes of a proposal is queued and computed on the companion thread; if the text has changed in the
meantime, once more. A link names its change by a fingerprint, so it can't hit another one. Side by side the editor's
own gutter marks are off, as they would repeat ours a line apart; inline it is the other way round. Each header has
several forms, for views of several widths.
"""
