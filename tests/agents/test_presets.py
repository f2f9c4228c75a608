"""The presets: each agent is started by the program and the arguments that its published package has."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from companion.agents import PRESETS, AgentCommand
from tests.agent_talk import said, talking
from tests.e2e.qwen import PROJECT

from .published import INSTALLED, folder_of
from .test_agents import Place, place

__all__ = ["place"]

NAMES = {
    "claude": "Claude Agent",
    "codex": "Codex",
    "copilot": "Copilot CLI",
    "kimi": "Kimi Code",
    "opencode": "OpenCode",
    "vibe": "Mistral Vibe",
}
#: What is installed has other names in this repository: OpenCode's package downloads that of the system.
PINNED_BY = {"opencode-ai": "opencode-"}


def preset_of(place: Place) -> AgentCommand:
    return next(each for each in PRESETS if each.name == NAMES[place.name])


def programs(place: Place) -> Path:
    """The folder for the PATH that installing the agent has filled."""
    entry = next(path for word in place.agent.command()[::-1] if (path := Path(word)).is_file())
    modules = next((each for each in entry.parents if each.name == "node_modules"), None)
    folder = modules / ".bin" if modules else entry.parent
    if not folder.is_dir():  # OpenCode's own package makes the link by a script
        folder = place.home.home / "bin"
        folder.mkdir(exist_ok=True)
        (folder / entry.name).symlink_to(entry)
    return folder


def is_pinned(package: str) -> bool:
    """Whether it is the package that is tried here."""
    pinned = [
        name for path in INSTALLED.glob("*/package.json") for name in json.loads(path.read_text())["dependencies"]
    ]
    pinned += [line.partition("==")[0] for line in (PROJECT / "requirements" / "vibe.txt").read_text().splitlines()]
    return any(name == package or name.startswith(PINNED_BY.get(package, package + " ")) for name in pinned)


async def test_its_preset_starts_it(place: Place):
    preset = preset_of(place)
    assert is_pinned(shlex.split(preset.install)[-1])
    environment = place.agent.prepare(place.model.base_url.removesuffix("/v1"), place.home)
    environment["PATH"] = f"{programs(place)}{os.pathsep}{environment['PATH']}"
    async with talking(preset.command, str(folder_of(place.home)), environment) as talk:
        assert talk.client.name == place.agent.title
        turn = await talk.done(await talk.ask(f"Say {place.model.speech('Here I am.').tag}"))
        assert "Here I am." in said(turn)  # Claude Agent and Vibe may add a warning
