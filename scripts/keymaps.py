"""`python -m scripts.keymaps`: which key bindings of other packages collide with this package's, for `scripts/keys`.

Two bindings collide on a system if one has the keys of the other, or begins with them, and nothing is known that
keeps their contexts from holding at once. The one that is loaded later is run. What is not known counts as possible.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headless import jsonc, scopes
from headless.keymap import ANY_CHARACTER, normalized

ROOT = Path(__file__).resolve().parents[1]
NAME = "QwenCompanion"
SYSTEMS = {"Windows": False, "Linux": False, "OSX": True}
"""The word for a system in the names of keymaps, and whether its primary key is Command."""
EVERYWHERE = "qwen_companion.diff_waits"
"""The one context of ours that may hold in a view of another package."""
IN_CHATS = "qwen_companion.chat"
OTHERS_VIEWS = re.compile(
    r"terminus_view(?!\.exec_panel)|setting\.(git_savvy\.\w*view|gs_|terminal_view|repl$|gemini_chat_view"
    r"|input_panel_with_history|lsp_suppress_input)"
)
"""Contexts that hold only in a view that another package has made for itself."""
SINGLE = re.compile(
    r"setting\.|(auto_complete|popup|panel|overlay)_visible$|num_selections$|(panel|overlay)_has_focus$"
)
"""Contexts with one value at a time."""
PROMPT = "text.qwen-companion.chats"
"""The scope of the prompt of a chat, in which no selector of a language holds."""
IN_PROMPTS = {f"{IN_CHATS}_{name}" for name in ("prompt", "ask", "choice", "suggestion", "first_line", "last_line")}
INPUTS = {"qwen_companion.comment_input", "qwen_companion.question_input"}
"""Our input panels. Vim's normal mode is in none of them, nor in a chat with these contexts."""
NO_VIM = {*IN_PROMPTS, *INPUTS, f"{IN_CHATS}_types"}
IN_CODE = "in the code of a chat only; what it inserts goes to the prompt"
KNOWN = {
    ("Terminus", "shift+escape"): "sublime_text/listeners.py has it reject the diff",
    ("Vintage", "enter"): "sublime_text/chat/vim.py has it do what our Enter does",
    ("Vintage", "escape"): "it ends Vim's insert mode or selection, the next one the turn",
    ("Ruby", "#"): IN_CODE,
    ("Rust", "'"): IN_CODE,
    **{("ShellScript", key): IN_CODE for key in "`( {"},
    ("Table Editor", "enter"): "only where `enable_table_editor` is on, in a line that begins with |",
    ("Table Editor", "tab"): "only where `enable_table_editor` is on, in a line that begins with |",
}
"""Collisions that do no harm, and why."""

Context = Mapping[str, Any]


@dataclass(frozen=True)
class Binding:
    """Normalized keys, the command, and the conditions that hold together."""

    keys: tuple[str, ...]
    command: str
    context: tuple[Context, ...]

    @property
    def needs(self) -> set[str]:
        """The keys of its conditions."""
        return {str(each["key"]) for each in self.context}


@dataclass(frozen=True)
class Collision:
    """A binding of another package and one of ours that may both apply."""

    package: str
    theirs: Binding
    ours: Binding
    is_theirs_run: bool

    @property
    def why(self) -> str | None:
        """Why it does no harm, if that is known."""
        return KNOWN.get((self.package, " ".join(self.theirs.keys)))


def bindings(text: str, mac: bool) -> Iterator[Binding]:
    """The bindings of a keymap. Raises ValueError if it is not one."""
    for each in jsonc.loads(text) or []:
        if each.get("keys") and each.get("command"):
            keys = tuple(normalized(str(key), mac) for key in each["keys"])
            yield Binding(keys, str(each["command"]), tuple(each.get("context") or ()))


def keymaps(package: Path) -> dict[str, str]:
    """The texts of all keymaps in a folder or an archive, by their paths in it."""
    if package.is_dir():
        found = {str(path.relative_to(package)): path.read_bytes() for path in package.rglob("*.sublime-keymap")}
    else:
        with zipfile.ZipFile(package) as archive:
            found = {name: archive.read(name) for name in archive.namelist() if name.endswith(".sublime-keymap")}
    return {name: found[name].decode("utf-8") for name in sorted(found)}


def of_system(texts: Mapping[str, str], system: str) -> list[Binding]:
    """The bindings of a package on a system. A keymap that nobody can read is named on stderr, and left out."""
    found: list[Binding] = []
    for name, text in texts.items():
        if Path(name).name in {"Default.sublime-keymap", f"Default ({system}).sublime-keymap"}:
            try:
                found += bindings(text, SYSTEMS[system])
            except ValueError as error:
                print(f"{name}: {error}", file=sys.stderr)
    return found


def collisions(package: str, theirs: Sequence[Binding], ours: Sequence[Binding]) -> Iterator[Collision]:
    """Those of one package on one system."""
    for one in theirs:
        for own in ours:
            if _share_keys(one.keys, own.keys) and may_hold_together(own, one):
                yield Collision(package, one, own, _is_later(package))


def may_hold_together(ours: Binding, theirs: Binding) -> bool:
    """Whether nothing is known that keeps both from applying."""
    if EVERYWHERE not in ours.needs and any(OTHERS_VIEWS.match(key) for key in theirs.needs):
        return False
    if ours.needs & NO_VIM and any(_is_normal_mode(each) for each in theirs.context):
        return False
    if ours.needs & IN_PROMPTS and any(_is_elsewhere(each) for each in theirs.context):
        return False
    return not any(_exclude(one, other) for one in ours.context for other in theirs.context)


def _wanted(context: Context) -> tuple[Any, bool]:
    """The operand of a condition, and whether it has to be equal to it."""
    return context.get("operand", True), context.get("operator", "equal") == "equal"


def _is_normal_mode(context: Context) -> bool:
    return context["key"] == "setting.command_mode" and _wanted(context) == (True, True)


def _is_elsewhere(context: Context) -> bool:
    """Whether a condition on the scope fails in the prompt of a chat."""
    value, is_equal = _wanted(context)
    return context["key"] == "selector" and (scopes.score(PROMPT, str(value)) > 0) != is_equal


def _exclude(one: Context, other: Context) -> bool:
    """Whether two conditions can't hold at once."""
    if one["key"] != other["key"] or not SINGLE.match(str(one["key"])):
        return False
    if not {one.get("operator", "equal"), other.get("operator", "equal")} <= {"equal", "not_equal"}:
        return False
    (value, is_equal), (other_value, is_other_equal) = _wanted(one), _wanted(other)
    if is_equal and is_other_equal:
        return bool(value != other_value)
    return bool(value == other_value) and is_equal != is_other_equal


def _share_keys(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    length = min(len(one), len(other))
    return all(_is_same_key(*pair) for pair in zip(one[:length], other[:length], strict=True))


def _is_same_key(one: str, other: str) -> bool:
    if ANY_CHARACTER in (one, other):
        return all(key == ANY_CHARACTER or len(key) == 1 for key in (one, other))
    return one == other


def _is_later(package: str) -> bool:
    """Whether a package may be loaded after ours: alphabetically, Default first, User last."""
    if package in {"Default", "User"}:
        return package == "User"
    return package > NAME or package.lower() > NAME.lower()


def report(packages: Mapping[str, Path]) -> tuple[list[str], int]:
    """A line for each collision with the systems that have it, and how many do harm: another package's is run."""
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    harm: set[tuple[str, ...]] = set()
    total = 0
    own = (ROOT / "Default.sublime-keymap").read_text(encoding="utf-8")
    for package, path in packages.items():
        texts = keymaps(path)
        for system, mac in SYSTEMS.items():
            theirs = of_system(texts, system)
            total += len(theirs)
            for each in collisions(package, theirs, list(bindings(own, mac))):
                who = package if each.is_theirs_run else NAME
                row = (package, " ".join(each.theirs.keys), each.theirs.command, each.ours.command, who, each.why or "")
                if each.is_theirs_run and each.why is None:
                    harm.add(row)
                if system not in rows[row]:
                    rows[row].append(system)
    lines = [
        f"{row[0]:18} {row[1]:14} {row[2]} / {row[3]}: {row[4]} goes first"
        + (f" ({row[5]})" if row[5] else "")
        + ("" if len(systems) == len(SYSTEMS) else f" [{', '.join(systems)}]")
        for row, systems in rows.items()
    ]
    return [*lines, f"{len(packages)} packages, {total} bindings on three systems, {len(harm)} take a key"], len(harm)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what collides. Returns 1 if a package takes a key of ours."""
    parser = argparse.ArgumentParser(prog="scripts/keys", description=__doc__)
    parser.add_argument("package", nargs="*", type=Path, help="a folder, a zip or a .sublime-package")
    parser.add_argument("--in", dest="folders", action="append", default=[], type=Path, help="all packages of a folder")
    parser.add_argument("--harm", action="store_true", help="leave out those in which this package goes first")
    options = parser.parse_args(arguments)
    archives = {".zip", ".sublime-package"}
    paths = [*options.package, *(path for folder in options.folders for path in sorted(folder.iterdir()))]
    packages = {
        path.name if path.is_dir() else path.stem: path for path in paths if path.is_dir() or path.suffix in archives
    }
    if not packages:
        parser.error("no package: name one, or --in a folder of packages")
    lines, harm = report(packages)
    print("\n".join(line for line in lines if not (options.harm and f"{NAME} goes first" in line)))
    return 1 if harm else 0


if __name__ == "__main__":
    sys.exit(main())
