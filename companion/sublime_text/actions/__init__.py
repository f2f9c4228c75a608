"""The person's own actions: a prompt about what they look at goes to a CLI or a chat.

Start with `commands`; `running` sends one, `values` has what stands for its variables.
"""
