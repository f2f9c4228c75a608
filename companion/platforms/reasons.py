"""What the system says of an error, for a sentence to a person."""

from __future__ import annotations

import errno

SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What the machine lacks at the moment: file descriptors or memory."""


def reason_of(error: BaseException) -> str:
    """The words without the number and the path, such as "not a directory"."""
    words = getattr(error, "strerror", None) or str(error)
    return words[:1].lower() + words[1:] if words[1:2].islower() else words


def no_port(error: BaseException) -> str:
    """Why nothing listens, and the one thing that helps: what the system says of it decides which."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) in SCARCE:
        return f"{reason_of(error) or 'there is no memory left'}. Close some tabs or programs."
    return f"{reason_of(error)}. Let Sublime Text listen on 127.0.0.1: a firewall or a sandbox keeps it from that."
