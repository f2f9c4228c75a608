"""Gathers the facts of the status report: those the companion knows, and those it has to look for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from ..clis.shell import Command, has_cli
from ..ids import WindowId
from ..review.reviews import Reviews
from ..server.endpoint import Endpoint
from ..server.sessions import Session
from ..server.window import WindowServer
from . import survey
from .facts import ConnectedCli, Facts, PublishedFolder, Served


def known(facts: Facts, servers: Mapping[WindowId, WindowServer], reviews: Reviews) -> Facts:
    """Add what is known at once. Reads no disk and asks nobody."""
    served = {number: _served(server, reviews) for number, server in servers.items()}
    return replace(facts, at=time.time(), served=served)


async def complete(
    facts: Facts,
    servers: Mapping[WindowId, WindowServer],
    login: Callable[[], Awaitable[Mapping[str, str]]],
    commands: Sequence[Command],
    tell: Callable[[Facts], object],
) -> None:
    """Add to the facts of `known` everything else: the disk, the processes and the CLIs' answers.

    `login` gives the environment of the person's terminals. `commands` are those that run the CLIs by the settings;
    without any, they count as installed.
    """
    environment: Mapping[str, str] = await login() if commands else {}
    endpoints = {number: server.endpoint for number, server in servers.items() if number in facts.served}
    ports = {number: facts.served[number].port for number in endpoints}  # a window may close meanwhile
    reviews_changes = any(server.settings.review != "off" for server in servers.values())
    looked, answers = await asyncio.gather(
        asyncio.to_thread(_look, facts, endpoints, ports, commands, environment),
        asyncio.gather(*(_answers(servers[number]) for number in endpoints)),
    )
    sessions = dict(zip(endpoints, answers, strict=True))
    served = {
        number: replace(one, sessions=sessions.get(number, one.sessions)) for number, one in looked.served.items()
    }
    lacks_git = looked.lacks_git and reviews_changes
    tell(replace(looked, at=time.time(), served=served, lacks_git=lacks_git))


def _served(server: WindowServer, reviews: Reviews) -> Served:
    endpoint = server.endpoint
    number = endpoint.window
    since = endpoint.state.folders_since
    # Links are resolved later, when the disk is read.
    folders = tuple(PublishedFolder(path, path, since.get(path, 0.0)) for path in endpoint.folders)
    sessions = tuple(_session(session, None) for session in server.sessions)
    diffs = tuple(f"{review.file_path} ({review.owner.cli})" for review in reviews if review.window == number)
    return Served(
        endpoint.port, folders, (), sessions, diffs, sharing=server.settings.sharing, review=server.settings.review
    )


async def _answers(server: WindowServer) -> tuple[ConnectedCli, ...]:
    sessions = list(server.sessions)
    # The answer to the ping counts as a message too, so the times are taken before it.
    before = [_session(session, None) for session in sessions]
    answers = await asyncio.gather(*(session.round_trip() for session in sessions))
    return tuple(replace(one, round_trip=answer) for one, answer in zip(before, answers, strict=True))


def _session(session: Session, round_trip: float | None) -> ConnectedCli:
    return ConnectedCli(session.cli, session.since, session.last_message, session.stream is not None, round_trip)


def _look(
    facts: Facts,
    endpoints: Mapping[WindowId, Endpoint],
    ports: Mapping[WindowId, int],
    commands: Sequence[Command],
    environment: Mapping[str, str],
) -> Facts:
    """Add what the disk and the other processes tell."""
    served = {
        number: replace(
            facts.served[number],
            folders=survey.published_folders(endpoint),
            files=survey.discovery_files(endpoint),
            rivals=survey.rivals(endpoint.folders, ports[number], list(ports.values())),
        )
        for number, endpoint in endpoints.items()
    }
    return replace(
        facts,
        served={**facts.served, **served},
        clis=survey.clis(),
        full=survey.full_disks([folder for endpoint in endpoints.values() for folder in endpoint.folders]),
        has_cli=has_cli(commands, environment),
        lacks_git=not survey.has_git(),
        libraries=survey.library_versions(),
        remote=survey.remote_programs(),
    )
