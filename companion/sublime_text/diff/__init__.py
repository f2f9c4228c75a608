"""The diffs on the screen.

Start with `diffs`, which has them all; `view` is one diff, `side` opens each of its two views. `header`, `notes`,
`marks` and `inline` draw, `widths` notices when that has to be done again, `scroll` keeps the sides level, `steps`
splits long work on the UI thread. `attention` knows what the person has seen. `kept` and `leftovers` have texts and
tabs that outlive a diff, `left_views` the views that outlive a reload.

The UI never decides: it posts what the person does, and closes when it is told to. Nothing is accepted unseen: keys,
saves and clicks count only after the person has gone to the diff and it has been on the screen for a second, which
begins again when it comes back because another diff has closed. A diff opens beside the focused view, or behind the
diff that has the focus.

A command on changes is queued and computed on the companion thread; if the text has changed in the meantime, once
more. A link names its change by a fingerprint, so it can't hit another one. Side by side the editor's own gutter marks
are off, as they would repeat ours a line apart; inline it is the other way round. Each header has several forms,
for views of several widths.
"""
