"""Comments at lines of a file or of a proposal, until they are sent to an agent.

Start with `comments`: which ones there are. `comment` finds the lines of one again, `message` makes the text for an
agent, `store` keeps them on the disk. The room may import `platforms` and `json_text`, and no library.
"""
