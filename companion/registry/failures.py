"""What can go wrong with the registry of agents: a sentence and a remedy for the person."""

from __future__ import annotations

from ..conversation.failures import ChatError


class RegistryError(ChatError):
    """A failure that has to do with the registry."""


class DamagedListError(RegistryError):
    """The list of agents can't be read."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The list of agents is damaged: {why}.")


class DownloadError(RegistryError):
    """Something could not be downloaded."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(f"{host or 'The address'} can't be reached: {why}.", "Try again later.")


class ArchiveError(RegistryError):
    """An archive is not what it should be, and nothing of it was installed."""

    remedy = "Nothing was installed."

    def __init__(self, why: str) -> None:
        super().__init__(f"The archive is refused: {why}.")


class InstallError(RegistryError):
    """An agent could not be installed or removed."""
