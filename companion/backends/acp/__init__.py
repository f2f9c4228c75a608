"""The client of agents that speak the Agent Client Protocol on their standard input and output.

It may import `conversation`, `review`, `clis` and the shared modules, and never `daemon`. Start with `client`, which is
the agent of a chat: it opens sessions, switches their options, signs in, and makes events of what the agent tells. Each
of its parts has it: `peer` carries the messages, `process` starts and ends it, `schema` reads the answers and `decoder`
the updates. `prompts` runs one prompt after the other, cancels them, and hands the events to the chat. `services` does
what the agent asks of the editor, with questions, forms, `files` and `terminals`. `tool_calls` merges what a tool call
says over its life. `extensions` has what only single agents do.

An agent is one process for each chat, in a session of its own. Lines have at most 64 MB, and a flood waits in the
pipe: nothing is read while 512 events wait. Its end is that of its process, not of its pipes, which something that it
has started may keep; one that closes its input or its output is ended. Over a reload it runs on: the old instance
stops reading, answers what it can within 0.2 s and leaves the process with its pipes, half a line and what waits; the
next one goes on. Where that is impossible, as on Windows, it is started again and the conversation is loaded. What it
writes goes through the editor, so an edited proposal is written as the person has made it, and it is told so.
"""
