"""The agents that people use, as they are published: how each is started with the scripted model, and its own tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.model import Call
from tests.e2e.qwen import PROJECT, Home, MissingError, node

INSTALLED = PROJECT / "tests" / "npm" / "agents"
VIBE = PROJECT / ".cache" / "vibe"
PATCH = "*** Begin Patch\n{}*** End Patch\n"


STEPS = (("First thing", "completed"), ("Second thing", "in_progress"), ("Third thing", "pending"))
"""The plan that is made: texts and states."""


def no_files(url: str) -> Mapping[str, str]:
    """No configuration."""
    return {}


@dataclass(frozen=True)
class Published:
    """One agent.

    `url` is the model's, without the version of its API. A path is relative to the home.
    """

    title: str
    """What it calls itself."""
    version: str
    command: Callable[[], list[str]]
    asks: str
    """The mode in which it asks before it changes a file; empty if it has none."""
    edit: Callable[[str, str, str], Call]
    """The call that replaces a text in a file: path, old, new."""
    write: Callable[[str, str], Call]
    """The call that writes a whole file: path, text."""
    run: Callable[[str], Call]
    """The call that runs a line in a shell."""
    environment: Callable[[str, Home], Mapping[str, str]]
    read: Callable[[str], Call] | None = None
    """The call that reads a file, for agents that edit only what they have read."""
    files: Callable[[str], Mapping[str, str]] = no_files
    plan: Callable[[], Call] | None = None
    """The call that makes the plan of `STEPS`; None if it has no such tool with a scripted model."""
    question: Callable[[], Call] | None = None
    """The call that asks the person to choose between Red and Blue; None if it has no such tool."""
    delegate: Callable[[str], Call] | None = None
    """The call that has a sub-agent do something; None if it has no such tool with a scripted model."""
    planning: tuple[str, str] = ("", "")
    """The option of the session, and its value, with which it plans before it works."""

    def prepare(self, url: str, home: Home) -> dict[str, str]:
        """Write the configuration. Returns the environment."""
        for name, text in self.files(url).items():
            path = home.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = home.environment(SHELL="/bin/bash", **self.environment(url, home))
        return {**found, "PATH": f"{node().parent}:{found['PATH']}"}


def npm(folder: str, entry: str) -> Callable[[], list[str]]:
    """The command of an agent from npm, by the script that Node runs."""

    def command() -> list[str]:
        path = INSTALLED / folder / "node_modules" / entry
        if not path.is_file():
            raise MissingError(f"{folder} is missing: scripts/setup --agents installs it.")
        return [str(node()), str(path)]

    return command


def opencode() -> list[str]:
    """OpenCode's program for this system: its package's own script would copy it, and scripts are not run."""
    system = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    found = sorted((INSTALLED / "opencode" / "node_modules").glob(f"opencode-{system}-*/bin/opencode*"))
    if not found:
        raise MissingError("OpenCode is missing: scripts/setup --agents installs it.")
    return [str(found[0]), "acp"]


def vibe() -> list[str]:
    """Mistral Vibe in its own environment."""
    path = VIBE / ("Scripts/vibe-acp.exe" if sys.platform == "win32" else "bin/vibe-acp")
    if not path.is_file():
        raise MissingError("Mistral Vibe is missing: scripts/setup --agents installs it.")
    return [str(path)]


def codex_call(tool: str, argument: object) -> Call:
    """Codex runs its tools in a script of the model's."""
    return Call("exec", f"text(JSON.stringify(await tools.{tool}({json.dumps(argument)})))")


def codex_write(path: str, text: str) -> Call:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return codex_call("apply_patch", PATCH.format(f"*** Add File: {path}\n{lines}"))


def codex_edit(path: str, old: str, new: str) -> Call:
    lines = "".join(f"-{line}\n" for line in old.splitlines()) + "".join(f"+{line}\n" for line in new.splitlines())
    return codex_call("apply_patch", PATCH.format(f"*** Update File: {path}\n@@\n{lines}"))


def codex_shell(line: str) -> Call:
    asked = {"sandbox_permissions": "require_escalated", "justification": "It must run."}
    return codex_call("exec_command", {"cmd": line, **asked})


def strings(tool: str, *names: str) -> Callable[..., Call]:
    """A tool whose arguments are texts, by their names."""
    return lambda *values: Call(tool, dict(zip(names, values, strict=True)))


QUESTION = "Which colour?"
ANSWERS = ({"label": "Red", "description": "Like a rose"}, {"label": "Blue", "description": "Like the sea"})


def question(**more: object) -> dict[str, object]:
    """The arguments of a call that asks for a colour."""
    return {"questions": [{"question": QUESTION, "header": "Colour", "options": list(ANSWERS), **more}]}


CODEX_CONFIGURATION = """model = "gpt-6.1-sol"
model_provider = "scripted"
model_reasoning_summary = "detailed"
[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
"""
KIMI_CONFIGURATION = """default_model = "scripted"
[models.scripted]
provider = "mine"
model = "scripted"
max_context_size = 200000
capabilities = ["thinking", "image_in", "tool_use"]
[models.scripted-two]
provider = "mine"
model = "scripted-two"
max_context_size = 200000
[providers.mine]
type = "openai"
base_url = "{url}/v1"
api_key = "none"
"""
VIBE_CONFIGURATION = """active_model = "scripted"
enable_update_checks = false
enable_auto_update = false
enable_telemetry = false
[[providers]]
name = "mine"
api_base = "{url}/v1"
api_key_env_var = "MISTRAL_API_KEY"
backend = "generic"
[[models]]
name = "scripted"
provider = "mine"
alias = "scripted"
supports_images = true
[[models]]
name = "scripted-two"
provider = "mine"
alias = "scripted-two"
"""


def opencode_configuration(url: str) -> Mapping[str, str]:
    limits = {"limit": {"context": 200000, "output": 8000}}
    seen = {"attachment": True, "reasoning": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    models = {"scripted": {"name": "Scripted", **limits, **seen}, "scripted-two": {"name": "Scripted Two", **limits}}
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Mine", "options": options, "models": models}
    configuration = {
        "autoupdate": False,
        "share": "disabled",
        "model": "mine/scripted",
        "small_model": "mine/scripted-two",
        "permission": {"edit": "ask", "bash": "ask"},
        "provider": {"mine": provider},
    }
    return {".config/opencode/opencode.json": json.dumps(configuration)}


def todos(text: str = "content", done: str = "completed", **more: str) -> Sequence[Mapping[str, str]]:
    """The steps of a plan, as a tool's arguments: the name of the field for a text, the word for what is done."""
    return [{text: step, "status": done if state == "completed" else state, **more} for step, state in STEPS]


AGENTS = {
    "claude": Published(
        "Claude Agent",
        "0.101.0",
        npm("claude-agent-acp", "@agentclientprotocol/claude-agent-acp/dist/index.js"),
        "default",
        edit=strings("Edit", "file_path", "old_string", "new_string"),
        write=strings("Write", "file_path", "content"),
        run=lambda line: Call("Bash", {"command": line, "description": "Does it"}),
        read=strings("Read", "file_path"),
        question=lambda: Call("AskUserQuestion", question(multiSelect=False)),
        delegate=lambda prompt: Call(
            "Agent", {"description": "Count the uses", "prompt": prompt, "run_in_background": False}
        ),
        environment=lambda url, _: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-ant-none-needed",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # it refuses to work as root elsewhere
        },
    ),
    "codex": Published(
        "Codex",
        "2.6.0",
        npm("codex-acp", "@agentclientprotocol/codex-acp/dist/index.js"),
        "read-only",
        edit=codex_edit,
        write=codex_write,
        run=codex_shell,
        environment=lambda _, home: {
            "CODEX_HOME": str(home.home / ".codex"),
            "OPENAI_API_KEY": "sk-none-needed",
            "NO_BROWSER": "1",
        },
        files=lambda url: {".codex/config.toml": CODEX_CONFIGURATION.format(url=url)},
        question=lambda: Call("request_user_input", question(id="colour")),
        planning=("collaboration_mode", "plan"),
    ),
    "opencode": Published(
        "OpenCode",
        "1.18.34",
        opencode,
        "",
        edit=strings("edit", "filePath", "oldString", "newString"),
        write=strings("write", "filePath", "content"),
        run=lambda line: Call("bash", {"command": line, "description": "Does it"}),
        read=strings("read", "filePath"),
        environment=lambda _, home: {
            "XDG_CONFIG_HOME": str(home.home / ".config"),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        files=opencode_configuration,
        plan=lambda: Call("todowrite", {"todos": todos(priority="medium")}),
    ),
    "copilot": Published(
        "Copilot",
        "1.0.102",
        lambda: [*npm("copilot", "@github/copilot/npm-loader.js")(), "--acp", "--stdio"],
        "",
        edit=strings("edit", "path", "old_str", "new_str"),
        write=strings("create", "path", "file_text"),
        run=lambda line: Call("bash", {"command": line, "description": "Does it", "mode": "sync", "sessionId": "s"}),
        read=strings("view", "path"),
        environment=lambda url, _: {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none-needed",
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        },
    ),
    "kimi": Published(
        "Kimi Code CLI",
        "2.1.0",
        lambda: [*npm("kimi-code", "@moonshot-ai/kimi-code/dist/main.mjs")(), "acp"],
        "",
        edit=strings("Edit", "path", "old_string", "new_string"),
        write=strings("Write", "path", "content"),
        run=lambda line: Call("Bash", {"command": line, "description": "Does it"}),
        read=strings("Read", "path"),
        environment=lambda _, home: {
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
            "KIMI_CODE_HOME": str(home.home / ".kimi-code"),
        },
        files=lambda url: {".kimi-code/config.toml": KIMI_CONFIGURATION.format(url=url)},
        plan=lambda: Call("TodoList", {"todos": todos("title", "done")}),
        question=lambda: Call("AskUserQuestion", question(multi_select=False)),
    ),
    "vibe": Published(
        "Mistral Vibe",
        "3.0.3",
        vibe,
        "ask",
        edit=strings("edit", "file_path", "old_string", "new_string"),
        write=strings("write_file", "path", "content"),
        run=strings("bash", "command"),
        read=strings("read_file", "path"),
        environment=lambda _, home: {"MISTRAL_API_KEY": "none-needed", "VIBE_HOME": str(home.home / ".vibe")},
        files=lambda url: {".vibe/config.toml": VIBE_CONFIGURATION.format(url=url)},
        plan=lambda: Call("todo", {"action": "write", "todos": [{**each, "id": each["content"]} for each in todos()]}),
    ),
}


def folder_of(home: Home) -> Path:
    """The project's folder, which is a repository: some agents look for one above it."""
    (home.workspace / ".git").mkdir(exist_ok=True)
    return home.workspace
