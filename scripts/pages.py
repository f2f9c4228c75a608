"""`python -m scripts.pages`: writes docs/reference.md from the package's own files, for `scripts/reference`.

The names come from the palette, the keymap and the settings file; what a command does from the first line of its
class's docstring, what a setting does from its schema.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headless import jsonc

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path("docs/reference.md")
PALETTE = "Qwen: "
ROOMS = {
    "terminal": "CLIs in a terminal",
    "review": "Review",
    "why": "Review",
    "comments": "Comments",
    "problems": "Problems and actions",
    "actions": "Problems and actions",
    "window_tools": "Problems and actions",
    "chat": "Chat",
    "install_agent": "Chat",
}
"""The folders and files of companion/sublime_text whose commands have a table of their own: its title, in order."""
OTHERS = "Status and help"
RARE = "// ---- Rarely needed ----"
HEAD = """# Reference

All keys, all settings, and the commands of the palette. `scripts/reference` writes this page: do not edit it.
"""

SETTINGS = """## Settings

*Preferences → Package Settings → QwenCompanion → Settings*. A wrong value is reported with its key, and the default is
used; for `context` it is `"off"`. Those with “project” may be set for a project as well, in its `.sublime-project`:
`"settings": {"QwenCompanion": {"diff_layout": "inline"}}`. It can only make `context`, `context_exclude` and `review`
stricter.
"""

Binding = dict[str, Any]


def page(root: Path) -> str:
    """The whole page."""
    keymap = (root / "Default.sublime-keymap").read_text(encoding="utf-8")
    return "\n".join([HEAD, *_commands(root, jsonc.loads(keymap)), *_keys(keymap), *_settings(root)])


def _commands(root: Path, bindings: list[Binding]) -> Iterator[str]:
    palette = jsonc.loads((root / "Default.sublime-commands").read_text(encoding="utf-8"))
    classes = _classes(root)
    yield "## Commands\n"
    yield f"In the palette while they can do something, each with “{PALETTE.strip()}” before its name."
    yield "The last column is for your own keys.\n"
    for title in dict.fromkeys((*ROOMS.values(), OTHERS)):
        rows = [
            f"| {each['caption'].removeprefix(PALETTE)} | {classes[each['command']][1]} | {_bound(each, bindings)} "
            f"| {_code(each)} |"
            for each in palette
            if each["command"] in classes and classes[each["command"]][0] == title
        ]
        if rows:
            yield f"### {title}\n\n| command | what it does | key | for your own keys |\n|---|---|---|---|"
            yield "\n".join(rows) + "\n"


def _classes(root: Path) -> dict[str, tuple[str, str]]:
    """For each command the title of its table, and the first line of what its class says."""
    found: dict[str, tuple[str, str]] = {}
    folder = root / "companion/sublime_text"
    for path in sorted(folder.rglob("*.py")):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Command"):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                found[command_name(node.name)] = ROOMS.get(room, OTHERS), first.removesuffix(".")
    return found


def command_name(class_name: str) -> str:
    """The name by which the editor knows a command's class."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name.removesuffix("Command")).lower()


def _bound(entry: Mapping[str, Any], bindings: list[Binding]) -> str:
    """The keys that run an entry of the palette. `by_key` and the like say only from where it was run."""
    wanted = entry.get("args", {})
    keys = [
        _key(each["keys"])
        for each in bindings
        if each["command"] == entry["command"]
        and {name: value for name, value in each.get("args", {}).items() if name not in {"by_key", "at_caret"}}
        == wanted
    ]
    return ", ".join(keys)


def _code(entry: Mapping[str, Any]) -> str:
    args = f" {json.dumps(entry['args'])}" if "args" in entry else ""
    return f"`{entry['command']}{args}`"


def _key(keys: list[str]) -> str:
    def name(key: str, primary: str) -> str:
        words = [primary if word == "primary" else word.capitalize() for word in key.split("+")]
        return "+".join(words).replace("Escape", "Esc") if len(words[0]) > 1 else key

    plain, mac = (", ".join(f"`{name(key, primary)}`" for key in keys) for primary in ("Ctrl", "Cmd"))
    return plain if plain == mac else f"{plain} ({mac})"


def _keys(keymap: str) -> Iterator[str]:
    """The bindings, under what the comment above them says of where they are active."""
    yield "## Keys\n\n| key | command | active |\n|---|---|---|"
    where = ""
    blocks = re.findall(r"((?:^    //.*\n)*)^    (\{\n(?:.*\n)*?    \}),?$", keymap, re.MULTILINE)
    for comment, block in blocks:
        where = " ".join(re.findall(r"// (.*)", comment)) or where
        binding = jsonc.loads(block)
        key = "any letter" if binding["keys"] == ["<character>"] else _key(binding["keys"])
        yield f"| {key} | {_code(binding)} | {where.removeprefix('Active ').removesuffix('.')} |"
    yield "\nSuggestions for your own key bindings; none of them is active by itself:\n\n| keys | command |\n|---|---|"
    for line in re.findall(r"^\s*// (\{.*\}),$", keymap, re.MULTILINE):
        binding = jsonc.loads(line)
        yield f"| {_key(binding['keys'])} | {_code(binding)} |"
    yield ""


def _settings(root: Path) -> Iterator[str]:
    own, project = json.loads((root / "sublime-package.json").read_text(encoding="utf-8"))["contributions"]["settings"]
    in_projects = project["schema"]["properties"]["settings"]["properties"]["QwenCompanion"]["properties"]
    usual, _, rare = (root / "QwenCompanion.sublime-settings").read_text(encoding="utf-8").partition(RARE)
    yield SETTINGS
    for title, part in (("", usual), ("### Rarely needed\n\n", rare)):
        yield f"{title}| key | default | what it does | |\n|---|---|---|---|"
        for name in re.findall(r'^    "([\w.]+)":', part, re.MULTILINE):
            setting = own["schema"]["properties"][name]
            may = "project" if name in in_projects else ""
            yield f"| `{name}` | `{json.dumps(setting['default'])}` | {setting['markdownDescription']} | {may} |"
        yield ""


if __name__ == "__main__":
    (ROOT / TARGET).write_text(page(ROOT), encoding="utf-8", newline="\n")
    print(f"wrote {TARGET}")
