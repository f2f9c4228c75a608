"""A private `qwen serve` for one window: started, handed over on a reload, and ended with all that it started.

It may import `daemon.address`, `daemon.errors` and `clis`. Start with `private`, which a chat uses; `launch` starts
and ends the process, `records` remembers it on disk in case the editor is killed.
"""
