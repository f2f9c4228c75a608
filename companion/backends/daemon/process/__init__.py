"""A private `qwen serve` for one window: started, handed over on a reload, and ended with all that it started.

It may import `daemon.address`, `daemon.errors` and `clis`. Start with `private`, which a chat uses; `launch` starts
and ends the process, `records` remembers it on disk in case the editor is killed.

It ends with its window, not with a tab. Its output goes to a file, since a pipe would break on a reload; its token is
new for each start, goes by the environment only and is hidden when printed. The variables by which a CLI finds an
editor are taken out of its environment. If the editor is killed, a record without the token lets the next start end
it. No project can name an address, since the token would go there.
"""
