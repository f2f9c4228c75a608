"""Gathers the facts of the status report: those the companion knows, and those it has to look for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..clis.shell import Command
from ..ids import WindowId
from ..review.reviews import Reviews
from ..server.endpoint import Endpoint
from ..server.sessions import Session
from ..server.window import WindowServer
from . import survey
from .facts import Cli, ConnectedCli, Facts, PublishedFolder, Served
from .remote import Remote


def known(facts: Facts, servers: Mapping[WindowId, WindowServer], reviews: Reviews) -> Facts:
    """Add what is known at once. Reads no disk and asks nobody."""
    served = {number: _served(server, reviews) for number, server in servers.items()}
    return replace(facts, at=time.time(), served=served)


async def complete(
    facts: Facts, servers: Mapping[WindowId, WindowServer], commands: Sequence[Command], environment: Mapping[str, str]
) -> Facts:
    """Add to the facts of `known` everything else: the disk, the processes and the CLIs' answers.

    `commands` are those that run the CLIs by the settings, `environment` is that of the person's terminals.
    """
    endpoints = {number: server.endpoint for number, server in servers.items() if number in facts.served}
    ports = {number: facts.served[number].port for number in endpoints}  # a window may close meanwhile
    looked, answers = await asyncio.gather(
        asyncio.to_thread(_look, endpoints, ports, commands, environment),
        asyncio.gather(*(_answers(servers[number]) for number in endpoints)),
    )
    windows, clis, full, has_cli, has_git, libraries, remote = looked
    served = dict(facts.served)
    for number, sessions in zip(endpoints, answers, strict=True):
        folders, files, rivals = windows[number]
        served[number] = replace(
            facts.served[number], port=ports[number], folders=folders, files=files, sessions=sessions, rivals=rivals
        )
    return replace(
        facts,
        at=time.time(),
        served=served,
        clis=clis,
        full=full,
        has_cli=has_cli,
        lacks_git=not has_git and any(server.settings.review != "off" for server in servers.values()),
        libraries=libraries,
        remote=remote,
    )


def _served(server: WindowServer, reviews: Reviews) -> Served:
    endpoint = server.endpoint
    number = endpoint.window
    # Links are resolved later, when the disk is read.
    folders = tuple(PublishedFolder(path, path, endpoint.folders_since.get(path, 0.0)) for path in endpoint.folders)
    sessions = tuple(_session(session, None) for session in server.sessions)
    diffs = tuple(f"{review.file_path} ({review.owner.cli})" for review in reviews if review.owner.window == number)
    return Served(endpoint.port, folders, (), sessions, diffs, told=server.settings.told)


async def _answers(server: WindowServer) -> tuple[ConnectedCli, ...]:
    sessions = list(server.sessions)
    # The answer to the ping counts as a message too, so the times are taken before it.
    before = [_session(session, None) for session in sessions]
    answers = await asyncio.gather(*(session.round_trip() for session in sessions))
    return tuple(replace(one, round_trip=answer) for one, answer in zip(before, answers, strict=True))


def _session(session: Session, round_trip: float | None) -> ConnectedCli:
    return ConnectedCli(session.cli, session.since, session.last_message, session.stream is not None, round_trip)


Looked = tuple[
    dict[WindowId, tuple[tuple[PublishedFolder, ...], tuple[survey.DiscoveryFile, ...], tuple[survey.Rival, ...]]],
    tuple[Cli, ...],
    tuple[str, ...],
    bool,
    bool,
    tuple[tuple[str, str], ...],
    tuple[Remote, ...],
]


def _look(
    endpoints: Mapping[WindowId, Endpoint],
    ports: Mapping[WindowId, int],
    commands: Sequence[Command],
    environment: Mapping[str, str],
) -> Looked:
    windows = {
        number: (
            survey.published_folders(endpoint),
            survey.discovery_files(endpoint),
            survey.rivals(endpoint.folders, ports[number], list(ports.values())),
        )
        for number, endpoint in endpoints.items()
    }
    folders = [folder for endpoint in endpoints.values() for folder in endpoint.folders]
    return (
        windows,
        survey.clis(),
        survey.full_disks(folders),
        survey.has_cli(commands, environment),
        survey.has_git(),
        survey.library_versions(),
        survey.remote_programs(),
    )
