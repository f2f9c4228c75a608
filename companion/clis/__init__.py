"""The families of command-line agents (CLIs) that look for an editor, and everything about their processes and files.

This room knows which variables, discovery files and settings each family uses, which of its processes run, and how
text is quoted for shells and prompts. It imports nothing of the package but its own modules. Start with `families`:
one value for each family; `discovery` writes the files through which a CLI finds a window.

Each family has a token of its own, because several CLIs send the same client name: the token says who calls. A
discovery file with a port in its name belongs to one window; the one without (Qwen Code up to 0.5.0) to the window in
front.
Files heal by looking: each tick compares inode, size and time with the last write, reads only a file that differs, and
writes only one that is gone or no longer ours. Their age decides between editors, so only a change of the focus
touches them; the file of another running editor stays until our window gets the focus, else the two would overwrite
each other for ever.

No CLI knows a range of lines after an `@path`: the whole file is mentioned, and the lines follow in words. A name that
would press keys in a terminal is refused. Commands are not a project's business: opening a folder must not decide what
runs, nor whether a CLI asks.
"""
