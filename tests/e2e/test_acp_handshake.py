"""The handshake of published agents without an account: what each says, and that a sign-in is asked for."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from companion.backends.acp.errors import AgentError, SignInError
from tests.agent_talk import talking

from . import gemini
from .clis import NEWEST_QWEN, pinned, version_of
from .test_acp import write_section

pytestmark = pytest.mark.usefixtures("programs")
HEADING = "## Agents without an account"
#: What an agent would be signed in by.
KEYS = ("ANTHROPIC_", "AUGMENT_", "CLAUDE_", "GEMINI_", "GOOGLE_", "OPENAI_", "QWEN_")


@dataclass(frozen=True)
class Published:
    """An agent as it is published."""

    family: str
    version: str
    name: str
    """What it calls itself."""
    arguments: tuple[str, ...] = ("--acp",)

    @property
    def command(self) -> list[str]:
        return [*pinned(self.family, self.version), *self.arguments]


AGENTS = (
    Published("qwen", NEWEST_QWEN, "Qwen Code"),
    Published("gemini", gemini.NEWEST, "Gemini CLI"),
    # Without the optional package of the system, which has the model's own program, it opens no session.
    Published("claude-agent-acp", "0.101.0", "Claude Agent", ()),
    Published("auggie", "0.36.0", "Auggie Agent"),
)


def table(rows: dict[str, tuple[str, str]]) -> str:
    """The section of docs/compatibility.md."""
    lines = [
        HEADING,
        "",
        f"Written by a run of `scripts/test tests/e2e/test_acp_handshake.py` on {platform.system()}.",
        "The published agents were started where nobody has signed in. What one offers may be closed: Gemini CLI",
        "refuses logins with personal Google accounts since 18 June 2026.",
        "",
        "| agent | ways to sign in | a new conversation |",
        "|---|---|---|",
        *(f"| {agent} | {ways} | {opened} |" for agent, (ways, opened) in rows.items()),
    ]
    return "\n".join([*lines, ""])


@pytest.fixture(scope="module")
def rows() -> Iterator[dict[str, tuple[str, str]]]:
    """What each agent has said. A run with all of them writes the table."""
    rows: dict[str, tuple[str, str]] = {}
    yield rows
    if len(rows) == len(AGENTS):
        write_section(HEADING, table(rows))


@pytest.mark.parametrize("agent", AGENTS, ids=[agent.family for agent in AGENTS])
async def test_an_agent_shakes_hands_and_asks_for_a_sign_in(
    agent: Published, rows: dict[str, tuple[str, str]], tmp_path: Path
):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(KEYS)}
    home = {name: str(tmp_path) for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "APPDATA")}
    async with talking(agent.command, str(tmp_path), {**environment, **home}, session=None) as talk:
        assert talk.client.name == agent.name
        assert talk.client.info.version.split()[0] == version_of(agent.family, agent.version)
        kinds = {"agent": "by itself", "terminal": "in a terminal", "variables": "by variables"}
        ways = ", ".join(f"{way.name} ({kinds[way.kind]})" for way in talk.client.ways)
        for way in talk.client.ways:
            # A login runs the agent itself, never another program.
            assert way.kind != "terminal" or list(way.command[: len(agent.command) - 1]) == agent.command[: -1 or None]
        with pytest.raises(AgentError) as refused:
            await talk.open()
        wants = isinstance(refused.value, SignInError)
        assert wants or "native binary not found" in str(refused.value), refused.value
        opened = "asks for a sign-in" if wants else "says that its program for this system is missing"
        rows[f"{agent.name} {agent.version}"] = ways or "none: it names its own command", opened
