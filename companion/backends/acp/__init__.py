"""The client of agents that speak the Agent Client Protocol on their standard input and output.

It may import `daemon.process`, `conversation`, `review`, `clis` and the shared modules. Start with `client`: its parts
are what a chat asks of an agent. `process` starts and ends the agent, `lines` and `peer` carry the messages, `schema`
reads the answers and `decoder` the updates. `session` and `sessions` open and list sessions, `options` switches what a
session lets the person set, `prompts` runs one prompt after the other. `notifications` makes events of what the agent
tells, and `publisher` and `stream` hand them to the chat. `services` does what the agent asks of the editor, with
`questions`, `files` and `terminals`; `printing` makes text of what a terminal prints. `tool_calls` and `proposals`
merge what a tool call says over its life. `extensions` has what only single agents do.

An agent is one process for each chat, in a session of its own. Lines have at most 64 MB, and a flood waits in the
pipe: nothing is read while 512 events wait. Its end is that of its process, not of its pipes, which something that it
has started may keep; one that closes its input or its output is ended. Over a reload it runs on: the old instance
stops reading, answers what it can within 0.2 s and leaves the process with its pipes, half a line and what waits; the
next one goes on. Where that is impossible, as on Windows, it is started again and the conversation is loaded. What it
writes goes through the editor, so an edited proposal is written as the person has made it, and it is told so.
"""
