"""Nothing goes around the gate: only `own_views` reads or sets settings of views and windows with our own names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

GATE = "own_views.py"
OWN = "qwen_companion"
METHODS = {"get", "has", "set", "erase", "setdefault", "update", "pop", "add_on_change"}
VARIABLE = {
    ("buffers.py", "_overriding"): "the editor's own settings, which its callers name",
    ("chat/view.py", "__init__"): "the editor's own settings, which `_SETTINGS` has",
    ("chat/view.py", "release"): "the same",
    ("settings.py", "glance"): "the key under which a project may have settings, “QwenCompanion”",
    ("settings.py", "_in_project"): "the same, in the data of a project",
    ("chat/vim.py", "turn_off"): "Vintage's settings",
    ("chat/vim.py", "leave_on"): "Vintage's settings",
    ("review/review_tab.py", "_set_up"): "the editor's own settings, which `_SETTINGS` has",
    ("review/review_tab.py", "release"): "the same",
    ("review/diff_view.py", "_new_view"): "the indentation of the person's view",
}
"""Where the name of a setting is a variable, and why that is none of ours."""
PASSED = {
    "buffers.py": "to a function of its own that overrides the editor's settings for a moment",
    "review/written_view.py": "to a variable of this name, beside the window",
}
"""Where the settings of a view aren't used at once, and what becomes of them."""
GATES_OWN = {"own_value", "MARKER"}
"""What nobody else needs of the gate: it reads our settings of a view."""
TERMINALS = "terminal/terminals.py"
"""The mark of a terminal names this run of the editor by a random value, which no file can have; its views are those
of another package."""


def find(source: str, names: Mapping[str, str] | None = None) -> Iterator[tuple[int, str, str | None]]:
    """Each use of settings in a module: its line, the function, and the setting's name, None for a variable."""
    tree = ast.parse(source)
    known = {**(names or {}), **constants(tree)}
    for function in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]:
        label = function.name if isinstance(function, ast.FunctionDef) else ""
        for node in _within(function):
            for name in _named(node):
                yield node.lineno, label, _text(name, known)  # type: ignore[attr-defined]


def loose(source: str) -> list[str]:
    """What is done with settings so that `find` can't see which ones are used, and what nobody else needs of the gate.

    Settings are used at once, or have a variable called `settings`.
    """
    tree = ast.parse(source)
    seen: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call() as of, attr=name), args=[_, *_]) if name in METHODS:
                seen.add(of)
            case ast.Subscript(value=ast.Call() as of) | ast.Compare(comparators=[ast.Call() as of]):
                seen.add(of)
            case (
                ast.Assign(targets=[ast.Name(id="settings")], value=ast.Call() as of)
                | ast.AnnAssign(target=ast.Name(id="settings"), value=ast.Call() as of)
            ):
                seen.add(of)
            case _:
                pass
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="settings")) if node not in seen:
                found.append(ast.unparse(node))
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value="settings"), *_]):
                found.append(ast.unparse(node))
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) if name in GATES_OWN:
                found.append(name)
            case _:
                pass
    return found


def constants(tree: ast.Module) -> dict[str, str]:
    """The texts that a module has by name."""
    found: dict[str, str] = {}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        pairs = [(target, value) for target in targets]
        if pairs and isinstance(pairs[0][0], ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(pairs[0][0].elts, value.elts, strict=True))
        for target, one in pairs:
            if isinstance(target, ast.Name) and one is not None and (text := _text(one, found)) is not None:
                found[target.id] = text
    return found


def _within(function: ast.AST) -> Iterator[ast.AST]:
    """What is in a function or a module, but not in the functions in it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef):
            yield from _within(child)


def _named(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that name the settings which a node uses."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_settings(node.func.value):
        if node.func.attr in METHODS:
            yield from (each.value for each in node.keywords if each.arg is None)
            for argument in node.args[:1]:
                if isinstance(argument, ast.Dict):
                    yield from (
                        key if key is not None else value
                        for key, value in zip(argument.keys, argument.values, strict=True)
                    )
                else:
                    yield argument
    elif isinstance(node, ast.Subscript) and _is_settings(node.value):
        yield node.slice
    elif isinstance(node, ast.Compare) and any(map(_is_settings, node.comparators)):
        yield node.left


def _is_settings(node: ast.expr) -> bool:
    """Whether an expression is the settings of a view or a window, as far as its words tell."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "settings"
    return isinstance(node, ast.Name) and node.id == "settings"


def _text(node: ast.expr, known: Mapping[str, str]) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return known.get(name)
        case ast.Attribute(attr=name):
            return known.get(name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [_text(left, known), _text(right, known)]
        case ast.JoinedStr(values=values):
            parts = [
                _text(each.value if isinstance(each, ast.FormattedValue) else each, known) or "" for each in values
            ]
        case _:
            return None
    return None if None in parts else "".join(part or "" for part in parts)


@cache
def modules(root: Path) -> dict[str, str]:
    folder = root / "companion" / "sublime_text"
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}


def test_no_setting_of_a_view_or_a_window_is_ours(root: Path) -> None:
    found = modules(root)
    names: dict[str, str] = {}
    for source in found.values():
        names |= {name: text for name, text in constants(ast.parse(source)).items() if OWN in text}
    wrong: list[str] = []
    for module, source in found.items():
        if module in {GATE, TERMINALS}:
            continue
        for line, function, name in find(source, names):
            if (name is None and (module, function) not in VARIABLE) or (name or "").startswith(f"{OWN}."):
                wrong.append(f"{module}:{line}: {name or 'a variable'}")
    assert wrong == []


def test_each_variable_is_still_there(root: Path) -> None:
    found = {(module, at) for module, source in modules(root).items() for _, at, name in find(source) if name is None}
    assert VARIABLE.keys() <= found


def test_settings_are_used_where_their_names_stand(root: Path) -> None:
    found = {module: uses for module, source in modules(root).items() if (uses := loose(source)) and module != GATE}
    assert found.keys() == PASSED.keys(), found


@pytest.mark.parametrize(
    "line",
    [
        's = view.settings(); s.get("qwen_companion.chat")',
        '(s := view.settings()).get("qwen_companion.chat")',
        'view.settings().to_dict()["qwen_companion.chat"]',
        'get = view.settings().get; get("qwen_companion.chat")',
        'getattr(view, "settings")().get("qwen_companion.chat")',
        'look(view.settings(), "qwen_companion.chat")',
        'view.settings().get(key="qwen_companion.chat")',
        'own_value(view, "qwen_companion.chat")',
        "from .own_views import MARKER",
    ],
)
def test_the_look_finds_settings_that_go_elsewhere(line: str) -> None:
    assert loose(f"def look():\n    {line}\n")


@pytest.mark.parametrize(
    "line",
    [
        'view.settings().get("qwen_companion.chat")',
        'window.settings().get("qwen_companion.chat", 1)',
        "view.settings().has(NAME)",
        'view.settings().get(f"{OWN}.chat")',
        'view.settings().get("qwen_companion" + ".chat")',
        'view.settings()["qwen_companion.chat"]',
        '"qwen_companion.chat" in view.settings()',
        'view.settings().set("qwen_companion.chat", True)',
        'view.settings().update({NAME: True, "word_wrap": True})',
        'settings = view.settings(); settings.get("qwen_companion.chat")',
        "view.settings().erase(windows.NAME)",
    ],
)
def test_the_look_finds_each_way(line: str) -> None:
    source = f'OWN = "qwen_companion"\nNAME = f"{{OWN}}.chat"\n\n\ndef look():\n    {line}\n'
    assert [name for _, _, name in find(source) if (name or "").startswith(f"{OWN}.")] == ["qwen_companion.chat"]
