"""Text that is not our own reaches minihtml through one function, `minihtml.safe`.

Every place that gives the editor minihtml is listed in tests/sublime/test_markup.py with the test that feeds it hostile
text. A new place fails here until it is listed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from companion.sublime_text.minihtml import safe

ROOT = Path(__file__).parents[2]
ADAPTER = ROOT / "companion" / "sublime_text"
FEEDS = ROOT / "tests" / "sublime" / "test_markup.py"
TAKES_MINIHTML = {
    "Phantom",
    "add_phantom",
    "show_popup",
    "update_popup",
    "new_html_sheet",
    "set_contents",
    "QuickPanelItem",
    "ListInputItem",
    "CompletionItem",
    "snippet_completion",
    "command_completion",
    "preview",
}
"""The API's functions and methods that take minihtml. `add_regions` does so in its sixth argument."""
ANNOTATIONS_AT = 5


class Finder(ast.NodeVisitor):
    """Finds where minihtml is given to the editor: "module:Class.function"."""

    def __init__(self, module: str) -> None:
        self.found: set[str] = set()
        self._module = module
        self._names: list[str] = []

    def _named(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        self._names.append(node.name)
        if node.name in TAKES_MINIHTML:  # such as the preview of an input handler
            self._add()
        self.generic_visit(node)
        self._names.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._named(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._named(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        has_annotations = len(node.args) > ANNOTATIONS_AT or any(word.arg == "annotations" for word in node.keywords)
        if name in TAKES_MINIHTML or (name == "add_regions" and has_annotations):
            self._add()
        self.generic_visit(node)

    def _add(self) -> None:
        self.found.add(f"{self._module}:{'.'.join(self._names)}")


def found_in(source: str, module: str = "") -> set[str]:
    finder = Finder(module)
    finder.visit(ast.parse(source))
    return finder.found


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(ADAPTER.rglob("*.py")):
        yield ".".join(path.relative_to(ADAPTER).with_suffix("").parts), path.read_text("utf-8")


def fed() -> tuple[dict[str, str], set[str]]:
    """The places that are listed with their tests, and the tests that there are."""
    tree = ast.parse(FEEDS.read_text("utf-8"))
    [places] = [node.value for node in tree.body if isinstance(node, ast.Assign) and _name(node.targets[0]) == "PLACES"]
    tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return ast.literal_eval(places), tests


def _name(target: Any) -> str:
    return str(getattr(target, "id", ""))


def test_every_place_that_shows_minihtml_is_listed_with_a_test_that_feeds_it_hostile_text() -> None:
    places, tests = fed()
    found = {place for module, source in sources() for place in found_in(source, module)}
    assert found == set(places)
    assert {test for test in places.values() if test} <= tests


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n def f(self): self.view.show_popup(words)",
        "class A:\n def f(self): sublime.Phantom(region, words)",
        "class A:\n def f(self): self.view.add_regions(key, found, scope, icon, flags, words)",
        "class A:\n def f(self): self.view.add_regions(key, found, annotations=words)",
    ],
)
def test_a_new_place_is_found(source: str) -> None:
    assert found_in(source, "new") == {"new:A.f"}


def test_a_place_without_minihtml_is_none() -> None:
    assert found_in("def f(): view.add_regions(key, found, scope, icon, flags)") == set()


def test_only_one_module_makes_text_safe() -> None:
    for module, source in sources():
        is_the_one = module == "minihtml"
        assert (".escape(" in source.replace("re.escape(", "")) == is_the_one, module
        assert is_the_one or ("&lt;" not in source and "&amp;" not in source), module


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>&<a href='subl:exit'>x", "&lt;b&gt;&amp;&lt;a href=&#x27;subl:exit&#x27;&gt;x"),
        ('"', "&quot;"),
        ("&lt;", "&amp;lt;"),
        ("a\x00b\x1bc\x85", "a\ufffdb\ufffdc\ufffd"),
        ("exe.\u202etxt\u2066", "exe.\ufffdtxt\ufffd"),
        ("\ud800", "\ufffd"),
        ("ü\t😀\n", "ü\t😀\n"),
    ],
)
def test_nothing_of_a_text_is_markup(text: str, shown: str) -> None:
    assert safe(text) == shown
