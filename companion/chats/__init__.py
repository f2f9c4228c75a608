"""The chats of all windows: what is sent, what is asked, and what is shown.

It may import `backends`, `conversation`, `review` and the shared modules, and never `server`. What was written in a
turn it asks of `changes`, and `provenance` logs what was said in it. Start with `chats`, which the commands call;
`chat` is one of them: a conversation in a tab. `backends.connector` reaches the daemon or an agent, and nothing here
knows which of the two: a chat asks an `Agent`. `connection` reads a session and tries again, `outbox` sends what a
`prompt` has, `permissions` turns questions about files into reviews, `watch` notices turns and what they touch,
`history` goes back to what was said and done, `tasks` lists what goes on besides, `sign_in` signs in, and `transcript`
makes the text of a conversation.

A chat is named by the id of its view, which the editor never gives twice and which a reload leaves as it is. Another
conversation in the same tab is another chat, and the one before ends as if its tab had been closed. What the chats of a
window share are its private daemons, one for each folder. A closed tab is forgotten: its prompt and its session are in
a setting of the window. A chat that is moved to another window ends in the first one. A daemon's turn that no tab shows
any more is seen to its end, since what it writes is to be listed.

One connection, one retry: it reaches the back end, creates or loads the session, reads its events, and decides after a
failure whether and when to try again; errors that only a person can solve end the retries. A prompt is never lost and
never sent twice: the outbox keeps it until the conversation shows it, and looks for it at the agent if the answer to a
request is lost. A permission is a review, and its outcome is the vote; only the person accepts it. A chat whose agent
works is connected at once after a reload, even in a hidden tab; any other hidden chat when its tab is shown. The next
render waits until the last one is on the screen, so a busy editor gets fewer, each with everything that is new.
"""
