"""The client of agents that speak the Agent Client Protocol on their standard input and output.

It may import `daemon.process`, `conversation`, `review`, `clis` and the shared modules. Start with `client`: one method
for each thing that a chat asks of an agent. `process` starts and ends the agent, `lines` and `peer` carry the messages,
`wire` reads the answers and `updates` the news. `opening` opens sessions, `choosing` switches their options, `prompts`
runs one prompt after the other, `news` and `stream` hand the events to the chat. `questions`, `files` and `terminals`
do what the agent asks of the editor; `printing` makes text of what a terminal prints. `extensions` has what only
single agents do.
"""
