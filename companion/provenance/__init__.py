"""Why a line is there: the prompt that asked for it, and what the agent said before it wrote it.

It may import `changes`, `snapshots`, `conversation` and the shared modules, and never touches the editor. Start with
`why`, which hears of each turn that is over, and answers for a line and for what a CLI proposes. `log` has what is kept
on the disk, `calls` what a turn's tool calls say, `lines` which of them wrote which line, and where it is now. `notes`
asks the notes of commits for those that the log doesn't know, `transcripts` reads those of CLIs. `Provenance` is on the
companion thread. All else blocks, and is for another thread.

A wrong reason is worse than none. A line is logged only if a tool call says that it has written it and the file has
it, and it is found again only if there is one place that fits. Nothing is guessed from a time or the words of a prompt.
"""
