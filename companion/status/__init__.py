"""The status report: why a CLI is connected or not, and what to do about it.

It may import `server`, `review`, `clis` and the shared modules. Start with `findings`: it turns `facts` into findings
with remedies, and makes the text that a person reads or copies. `survey` gathers the facts.
"""
