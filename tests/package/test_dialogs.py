"""What a native dialog says: names of agents, files and conversations can't pass for words of the editor."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ADAPTER = Path(__file__).parents[2] / "companion" / "sublime_text"
DIALOGS = {"ok_cancel_dialog", "yes_no_cancel_dialog", "message_dialog", "error_message"}
DEEPEST = 20
SAFE = {"flat", "spelled", "len", "counted"}
"""They make one line without hidden characters, or a number."""
KNOWN = {
    "chat.clicks:next((ask.hidden for ask in chat.asks if ask.permission.id == permission.id), 0)": "a number",
    "chat.clicks:host": "a host is one that a browser reads in the same way, or there is no dialog",
    "review.review_commands:what": "a constant",
    "review.review_commands:_names(paths)": "each of them made flat",
    "chat.permissions:form.host": "as above",
    "chat.opening:_where(adapter.settings.daemon())": "the person's own settings, from which an address was read",
    "chat.opening:DAEMON_AGENT": "a constant",
    "install_agent:entry.version": "no entry with hidden characters is read (test_registry.py)",
    "install_agent:entry.description": "as above",
    "install_agent:entry.source": "as above",
    "install_agent:filter(None, (entry.license or 'not said', entry.license_url))": "as above",
    "install_agent:plan.words": "made of that entry",
    "install_agent:self._name(entry)": "the name of that entry",
    "terminal.terminals:self._name": "the name of a CLI, a constant",
}
"""Other words in dialogs, by module, each with the reason why it is safe."""


class Questions(ast.NodeVisitor):
    """The parts of the texts of a module's dialogs that are put into them as they are."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._values: list[dict[str, list[ast.expr]]] = [{}]

    def visit_Module(self, node: ast.Module) -> None:
        self._values = [_assigned(node.body)]
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._values.append(_assigned(ast.walk(node)))
        self.generic_visit(node)
        self._values.pop()

    def visit_Call(self, node: ast.Call) -> None:
        if getattr(node.func, "attr", "") in DIALOGS:
            self.found.update(self._raw(node.args[0]))
        self.generic_visit(node)

    def _raw(self, node: ast.expr, depth: int = 0) -> Iterator[str]:
        values = self._of(node.id) if isinstance(node, ast.Name) and depth < DEEPEST else None
        parts = values or (_parts_of_call(node) if isinstance(node, ast.Call) else _parts(node))
        if parts is None:
            yield ast.unparse(node)
        for part in parts or ():
            yield from self._raw(part, depth + 1)

    def _of(self, name: str) -> list[ast.expr]:
        return next((found[name] for found in reversed(self._values) if name in found), [])


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """What a text is made of; None if that can't be seen."""
    match node:
        case ast.Constant() | ast.Compare():
            return []
        case ast.JoinedStr(values=parts):
            return parts
        case ast.FormattedValue(value=part) | ast.BinOp(left=part, op=ast.Mult()) | ast.GeneratorExp(elt=part):
            return [part]
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            return [left, right]
        case _:
            return None


def _parts_of_call(call: ast.Call) -> list[ast.expr] | None:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in SAFE or (name == "map" and getattr(call.args[0], "id", "") in SAFE):
        return []
    if name == "at_most":
        return call.args[:1]
    given = [*call.args, *(word.value for word in call.keywords)]
    if name == "format" and isinstance(call.func, ast.Attribute):
        return [call.func.value, *given]
    return given if name == "join" else None


def _assigned(statements: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in statements:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                found.setdefault(name, []).append(value)
            case _:
                pass
    return found


def raw_in(source: str) -> set[str]:
    questions = Questions()
    questions.visit(ast.parse(source))
    return questions.found


def test_no_name_gets_into_a_dialog_as_it_is() -> None:
    found = {
        f"{'.'.join(path.relative_to(ADAPTER).with_suffix('').parts)}:{raw}"
        for path in sorted(ADAPTER.rglob("*.py"))
        for raw in raw_in(path.read_text("utf-8"))
    }
    assert found == KNOWN.keys()


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("f'Delete {title}?'", {"title"}),
        ("f'Delete {flat(title, 80)}?'", set()),
        ("ASKED.format(agent=chat.agent)", {"chat.agent"}),
        ("'\\n'.join(row.path for row in rows)", {"row.path"}),
        ("'\\n'.join(map(spelled, rows))", set()),
        ("'Delete ' + (title if title else 'it')", {"title"}),
    ],
)
def test_a_name_that_is_put_into_a_dialog_is_noticed(text: str, raw: set[str]) -> None:
    asks = f"def f():\n q = {text}\n sublime.ok_cancel_dialog(q, 'Yes')"
    assert raw_in(f"ASKED = 'Sign out of {{agent}}?'\n{asks}") == raw
