"""The registry of the Agent Client Protocol: which agents there are, and installing one.

It may import `conversation`, `platforms` and the shared modules. Start with `registry`. `entries` reads the list,
says what installing an agent would do on this computer and puts what was unpacked in its place, `archives` looks at an
archive and unpacks it.

Nothing is downloaded that nobody has asked for, and nothing runs here: what is installed is a command, which the person
has seen. The list and the archives are other people's: every text of them is checked before it is shown or used.
"""
