"""Terminals in the editor, through the package Terminus.

Start with `terminals`: it starts a CLI, finds it again and types into its prompt.
"""
