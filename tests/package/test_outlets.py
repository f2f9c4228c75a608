"""Text leaves the editor for a terminal or the clipboard in one place each, and only as `visible.ShownText`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "companion").rglob("*.py"), ROOT / "plugin.py"])
PLACES = {
    "set_clipboard": {"sublime_text/panels.py:to_clipboard", "sublime_text/panels.py:lines_to_clipboard"},
    "terminus_send_string": {"sublime_text/terminal/terminals.py:send"},
}
TYPING = (
    *("terminus_keypress", "terminus_paste", "terminus_paste_text", "terminus_paste_from_history"),
    *("send_string", "send_key"),  # of Terminus's own object for a terminal
)
#: Who only hears of such a command, and runs none.
HEARD = {"terminus_keypress": {"sublime_text/listeners.py:on_post_text_command"}}
#: Commands whose names aren't literals, by the call; each can only be one of ours or the editor's.
COMPUTED = {
    "view.run_command(*command(edits))": "sublime_text/buffers.py",
    "self.view.run_command(self.name(), args)": "sublime_text/review/review_commands.py",
    "window.run_command(offer.command, {**dict(offer.args)})": "sublime_text/status.py",
}
OURS = "qwen_companion_"


def around(tree: ast.Module, where: str) -> Iterator[str]:
    """What goes around the two places in a module."""
    inside: dict[ast.AST, str] = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inside.update(dict.fromkeys(ast.walk(function), function.name))
    for node in ast.walk(tree):
        at = f"{where}:{inside.get(node, '')}"
        for name in _names(node):
            if at not in PLACES.get(name, {at} if name not in TYPING else HEARD.get(name, set[str]())):
                yield f"{at}: {name}"
        if _hides_the_editor(node) or _computes_a_command(node, where) or _writes_to_a_descriptor(node):
            yield f"{at}: {ast.unparse(node)}"


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name):
            return [name]
        case ast.Constant(value=str(text)):
            return [name for name in (*PLACES, *TYPING) if text == name]
    return []


def _hides_the_editor(node: ast.AST) -> bool:
    """Whether the editor's API is imported or read in a way that hides which of its functions is called."""
    match node:
        case ast.Import(names=names):
            return any(name.name == "sublime" and name.asname for name in names)
        case ast.Call(func=func, args=[ast.Constant(value="sublime"), *_]):
            return ast.unparse(func).rpartition(".")[2] in {"import_module", "__import__"}
        case (
            ast.ImportFrom(module="sublime")
            | ast.Call(func=ast.Name(id="getattr" | "vars" | "setattr"), args=[ast.Name(id="sublime"), *_])
            | ast.Attribute(value=ast.Name(id="sublime"), attr="__dict__")
            | ast.Assign(value=ast.Name(id="sublime"))
            | ast.NamedExpr(value=ast.Name(id="sublime"))
        ):
            return True
    return False


def _writes_to_a_descriptor(node: ast.AST) -> bool:
    """Whether bytes go to a descriptor, which may be that of a terminal. No module of the package needs that."""
    return isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.write", "os.writev", "os.pwrite"}


def _computes_a_command(node: ast.AST, where: str) -> bool:
    """Whether a command is run whose name can't be read here."""
    if not isinstance(node, ast.Call):
        return False
    words = [node.func, *node.args]
    runs = [isinstance(word, ast.Attribute) and word.attr == "run_command" for word in words]
    at = runs.index(True) if True in runs else None
    if at is None:
        return isinstance(node.func, ast.Name) and node.func.id == "getattr" and "run_command" in ast.unparse(node)
    name = words[at + 1] if at + 1 < len(words) else None
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        return False
    if isinstance(name, ast.JoinedStr) and isinstance(name.values[0], ast.Constant):
        return not str(name.values[0].value).startswith(OURS)
    return COMPUTED.get(ast.unparse(node)) != where


def filters(tree: ast.AST) -> Iterator[str]:
    """Where a module chooses by itself which characters are shown. `visible` does that for all."""
    for node in ast.walk(tree):
        match node:
            case ast.IfExp(test=chosen) | ast.Call(func=ast.Name(id="filter"), args=[chosen, *_]):
                tests = [chosen]
            case ast.comprehension(ifs=tests):
                pass
            case _:
                continue
        yield from (ast.unparse(each) for each in tests if "isprintable" in ast.unparse(each))


def test_no_module_has_a_filter_of_characters_of_its_own():
    found = {path.name: list(filters(ast.parse(path.read_text(encoding="utf-8")))) for path in MODULES}
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "code",
    [
        "''.join(each if each.isprintable() else ' ' for each in name)",
        "''.join(each for each in name if each.isprintable())",
        "''.join(filter(str.isprintable, name))",
    ],
)
def test_each_filter_of_characters_is_found(code: str):
    assert list(filters(ast.parse(code)))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_goes_around_the_two_places(path: Path):
    where = path.relative_to(ROOT).as_posix().removeprefix("companion/")
    assert list(around(ast.parse(path.read_text(encoding="utf-8")), where)) == []


@pytest.mark.parametrize(
    "code",
    [
        "sublime.set_clipboard(text)",
        "copy = sublime.set_clipboard",
        "from sublime import set_clipboard as copy",
        "from sublime import *",
        "import sublime as editor",
        "editor = sublime",
        "getattr(sublime, 'set_' + 'clipboard')(text)",
        "getattr(sublime, name)(text)",
        "vars(sublime)[name](text)",
        "sublime.__dict__[name](text)",
        "importlib.import_module('sublime').set_clipboard(text)",
        "window.run_command('terminus_send_string', {})",
        "window.run_command(name, {})",
        "window.run_command('terminus' + rest, {})",
        "window.run_command(f'{name}_string', {})",
        "partial(window.run_command, name)",
        "getattr(window, 'run_command')(name)",
        "view.run_command('terminus_paste_text', {})",
        "COMMAND = 'terminus_send_string'",
        "_hosted(view).send_string(text)",
        "os.write(pty_of(view).descriptor, text)",
        "def send(): sublime.set_clipboard(text)",
    ],
)
def test_each_way_around_is_found(code: str):
    assert list(around(ast.parse(code), "sublime_text/chat/clicks.py"))


def test_what_is_allowed_is_not_found():
    code = "window.run_command('show_panel', {})\nwindow.run_command(f'qwen_companion_chat_{what}')\nto_clipboard(text)"
    assert not list(around(ast.parse(code), "sublime_text/chat/clicks.py"))


def test_a_plain_text_is_refused_by_the_type_checker():
    """With pyright, as `scripts/test` runs it."""
    signatures = {
        "sublime_text/panels.py": "def to_clipboard(text: ShownText) -> None:",
        "sublime_text/terminal/terminals.py": "text: ShownText",
        "sublime_text/actions.py": "text: ShownText",
    }
    for name, signature in signatures.items():
        assert signature in (ROOT / "companion" / name).read_text(encoding="utf-8"), name
