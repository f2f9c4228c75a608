"""The client of agents that speak the Agent Client Protocol on their standard input and output.

It may import `daemon.process`, `conversation`, `review`, `clis` and the shared modules. Start with `client`: one method
for each thing that a chat asks of an agent. `process` starts and ends the agent, `lines` and `peer` carry the messages,
`wire` reads the answers and `updates` the news, `prompts` runs one prompt after the other, `stream` hands the events to
the chat, `files` and `terminals` do what the agent asks of the editor. `extensions` has what only single agents do.
"""
