"""The stand-in offers what the type stubs describe, neither more nor less."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headless import hooks, modules

modules.install()
if sys.version_info < (3, 12):
    pytest.skip("the stubs declare type parameters, which this Python cannot parse", allow_module_level=True)
MODULES = ["sublime", "sublime_plugin", "sublime_types"]
LISTENERS = {
    "EventListener": hooks.EVENT_LISTENER,
    "ViewEventListener": hooks.VIEW_EVENT_LISTENER,
    "TextChangeListener": hooks.TEXT_CHANGE_LISTENER,
}


def stub(module: str) -> ast.Module:
    files = importlib.metadata.files("sublime-text-stubs") or []
    path = next(f for f in files if str(f).replace("\\", "/").endswith(f"{module}-stubs/__init__.pyi"))
    return ast.parse(Path(str(path.locate())).read_text(encoding="utf-8"))


def exists_at_run_time(nodes: list[ast.stmt], index: int) -> bool:
    """The stubs say in a docstring which of their names are for type checkers only."""
    node = nodes[index]
    texts = [ast.get_docstring(node) or ""] if isinstance(node, ast.ClassDef) else []
    following = nodes[index + 1] if index + 1 < len(nodes) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        texts.append(str(following.value.value))
    return not any("exists only in the stubs" in " ".join(text.split()) for text in texts)


def names_of(nodes: list[ast.stmt]) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for index, node in enumerate(nodes):
        if not exists_at_run_time(nodes, index):
            continue
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = node
            case ast.TypeAlias(name=ast.Name(id=name)):
                found[name] = node
            case _:
                pass
    return found


def parameters(node: ast.FunctionDef) -> list[tuple[str, str, bool]]:
    """Name, kind and whether there is a default, of every parameter."""
    args = node.args
    plain = [(a, "POSITIONAL_ONLY") for a in args.posonlyargs]
    plain += [(a, "POSITIONAL_OR_KEYWORD") for a in args.args]
    defaults = [False] * (len(plain) - len(args.defaults)) + [True] * len(args.defaults)
    result = [(a.arg, kind, has) for (a, kind), has in zip(plain, defaults, strict=True)]
    if args.vararg:
        result.append((args.vararg.arg, "VAR_POSITIONAL", False))
    result += [(a.arg, "KEYWORD_ONLY", d is not None) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        result.append((args.kwarg.arg, "VAR_KEYWORD", False))
    return result


def offered(function: Any) -> list[tuple[str, str, bool]]:
    return [(p.name, p.kind.name, p.default is not p.empty) for p in inspect.signature(function).parameters.values()]


def functions() -> Iterator[tuple[str, str, str | None, ast.FunctionDef]]:
    """Every function and method of the stubs: module, class, name."""
    for module in MODULES:
        for name, node in names_of(stub(module).body).items():
            if isinstance(node, ast.FunctionDef):
                yield module, name, None, node
            elif isinstance(node, ast.ClassDef):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef):
                        yield module, method.name, name, method


def is_hook(cls: str | None, name: str) -> bool:
    return cls in LISTENERS and name.startswith("on_")


@pytest.mark.parametrize(
    ("module", "name", "cls", "node"),
    [
        pytest.param(*each, id=f"{each[0]}.{each[2] or ''}.{each[1]}")
        for each in functions()
        if not is_hook(each[2], each[1])
    ],
)
def test_a_function_has_the_parameters_of_the_stubs(module: str, name: str, cls: str | None, node: ast.FunctionDef):
    owner = importlib.import_module(module)
    if cls is not None:
        owner = getattr(owner, cls)
    if name == "__init__" and cls == "EventListener":
        return
    raw = inspect.getattr_static(owner, name)
    function = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
    wanted = parameters(node)
    if name.startswith("__") and name != "__init__":
        # What the operators' parameters are called does not matter.
        assert len(offered(function)) == len(wanted)
    else:
        assert offered(function) == wanted


# What the editor's own sublime_plugin.py has and the stubs do not.
HOST_ONLY = {"on_new_buffer", "on_new_buffer_async", "on_close_buffer", "on_close_buffer_async"}
HOST_FUNCTIONS = {"check_view_event_listeners", "reload_plugin", "sys", "unload_plugin"}
HOST_METHODS = {
    "is_enabled_", "is_visible_", "is_checked_", "description_", "filter_args", "run", "run_",
    "create_input_handler_", "setup_", "preview_", "validate_", "cancel_", "confirm_",
}  # fmt: skip


@pytest.mark.parametrize("cls", list(LISTENERS))
def test_the_listeners_are_told_of_exactly_the_documented_events(cls: str):
    node = names_of(stub("sublime_plugin").body)[cls]
    assert isinstance(node, ast.ClassDef)
    wanted = {
        m.name: [p.arg for p in m.args.args][1:]
        for m in node.body
        if isinstance(m, ast.FunctionDef) and is_hook(cls, m.name)
    }
    assert {name: list(parameters) for name, parameters in LISTENERS[cls].items() if name not in HOST_ONLY} == wanted


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_the_stubs_is_there_and_no_other(module: str):
    imported = {
        alias.asname
        for node in stub(module).body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sublime")
        for alias in node.names
        if alias.asname
    }
    have = {name for name in vars(importlib.import_module(module)) if not name.startswith("_")}
    wanted = set(names_of(stub(module).body))
    standard = {"annotations", "enum", "Any", "Generic", "TypeVar"} | HOST_FUNCTIONS
    assert wanted <= have
    assert have - wanted - imported - standard == set()


@pytest.mark.parametrize("module", ["sublime", "sublime_plugin"])
def test_classes_have_no_public_names_beyond_the_stubs(module: str):
    extra = {}
    for name, node in names_of(stub(module).body).items():
        if not isinstance(node, ast.ClassDef):
            continue
        known = set(names_of(node.body))
        for base in node.bases:
            base_node = names_of(stub(module).body).get(ast.unparse(base).split("[")[0])
            known |= set(names_of(base_node.body)) if isinstance(base_node, ast.ClassDef) else set()
        cls = getattr(importlib.import_module(module), name)
        if issubclass(cls, (int, BaseException)):
            continue
        have = {n for n in dir(cls) if not n.startswith("_")}
        if have - known - HOST_METHODS:
            extra[name] = have - known
    assert extra == {}


def test_the_enumerations_have_the_values_of_the_stubs():
    sublime = importlib.import_module("sublime")
    for name, node in names_of(stub("sublime").body).items():
        if isinstance(node, ast.ClassDef) and node.bases and ast.unparse(node.bases[0]).startswith("enum."):
            wanted = {a.targets[0].id: ast.literal_eval(a.value) for a in node.body if isinstance(a, ast.Assign)}  # type: ignore[attr-defined]
            assert {member: int(value) for member, value in getattr(sublime, name).__members__.items()} == wanted
