"""Packages: loading, reloading and leaving, listeners and commands."""

from __future__ import annotations

import importlib.resources
import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sublime

from headless import host, importer, keymap
from headless.app import Application

PLUGIN = """
import sublime, sublime_plugin
from .inner.part import VALUE
from .inner import part

events = []

class SampleListener(sublime_plugin.EventListener):
    def on_init(self, views): events.append(("init", len(views)))
    def on_activated(self, view): events.append(("activated", view.id()))
    def on_exit(self): exits.append(EXIT_FILE)

class HTTPServerStartCommand(sublime_plugin.WindowCommand):
    def run(self, word="none"): events.append(("run", word))

def plugin_loaded(): events.append("loaded")
def plugin_unloaded(): events.append("unloaded")
exits = []
EXIT_FILE = __file__
"""
FILES = {
    "plugin.py": PLUGIN,
    "inner/__init__.py": "",
    "inner/part.py": "VALUE = 1\nPATH = __file__\n",
    "inner/data.txt": "in the package",
    "Sample.sublime-settings": '// a comment\n{"colour": "blue", "size": [1, 2,],}\n',
}


@pytest.fixture(params=["folder", "zip"])
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "folder":
        for name, text in FILES.items():
            (tmp_path / "Sample" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "Sample" / name).write_text(text)
        return tmp_path / "Sample"
    path = tmp_path / "Sample.sublime-package"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
    return path


def test_a_package_loads_and_its_resources_can_be_read(app: Application, view: Any, sample: Path):
    assert app.loader.add(str(sample)) == []
    plugin = sys.modules["Sample.plugin"]
    assert plugin.events == ["loaded", ("init", 1), ("activated", view.id())]
    assert plugin.VALUE == 1
    assert plugin.__file__ == str(sample / "plugin.py")
    assert str(sample / "inner" / "part.py") == plugin.part.PATH
    assert sublime.load_resource("Packages/Sample/inner/data.txt") == "in the package"
    assert sublime.find_resources("data.*") == ["Packages/Sample/inner/data.txt"]
    # As the editor's own importer: a module in a zip has no files beside it for importlib.resources.
    data = importlib.resources.files("Sample.inner").joinpath("data.txt")
    if sample.suffix:
        with pytest.raises(OSError):
            data.read_text()
    else:
        assert data.read_text() == "in the package"
    assert sublime.load_settings("Sample.sublime-settings").get("size") == [1, 2]
    with pytest.raises(FileNotFoundError):
        sublime.load_resource("Packages/Sample/none.txt")
    with pytest.raises(IsADirectoryError):
        sublime.load_resource("Packages/Sample/inner")
    with pytest.raises(sublime.FileTooLargeError):
        sublime.load_binary_resource("Packages/Sample/inner/data.txt", 3)


def test_a_module_is_compiled_once_for_each_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Also if what was compiled is cut short, and if two texts have the same size and time."""
    monkeypatch.setattr(importer, "COMPILED", str(tmp_path / "compiled"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    module, compiled = tmp_path / "module.py", tmp_path / "compiled" / "Sample.module"
    loader, texts = importer.FolderModuleLoader("Sample.module", str(module)), list[bytes]()
    compile_source = loader.source_to_code
    monkeypatch.setattr(loader, "source_to_code", lambda text, path: texts.append(text) or compile_source(text, path))

    def value() -> int:
        loaded: Any = ModuleType("Sample.module")
        loader.exec_module(loaded)
        return loaded.VALUE

    for text in (b"VALUE = 1", b"VALUE = 2"):
        module.write_bytes(text)
        os.utime(module, (1, 1))
        assert (value(), value()) == (int(text[-1:]), int(text[-1:]))
    assert texts == [b"VALUE = 1", b"VALUE = 2"]
    compiled.write_bytes(compiled.read_bytes()[:40])
    assert (value(), len(texts)) == (2, 3)
    assert [path.name for path in compiled.parent.iterdir()] == ["Sample.module"]


def test_what_another_python_has_compiled_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One of the same version that leaves assertions out, or a test version, whose bytecode differs."""
    monkeypatch.setattr(importer, "COMPILED", str(tmp_path / "compiled"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (module := tmp_path / "module.py").write_text("assert False")
    compile_it = f"""
import sys
from headless import importer
sys.dont_write_bytecode = False
importer.COMPILED = {importer.COMPILED!r}
importer.FolderModuleLoader("Sample.module", {str(module)!r}).get_code("Sample.module")
"""
    subprocess.run([sys.executable, "-O", "-c", compile_it], check=True, cwd=Path(importer.__file__).parents[1])
    [compiled] = (tmp_path / "compiled").iterdir()
    loader = importer.FolderModuleLoader("Sample.module", str(module))
    with pytest.raises(AssertionError):
        loader.exec_module(ModuleType("Sample.module"))
    before = compiled.read_bytes()
    monkeypatch.setattr(importlib.util, "MAGIC_NUMBER", b"else")
    loader.get_code("Sample.module")
    assert compiled.read_bytes() != before


def test_what_is_compiled_need_not_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "module.py").write_text("VALUE = 1")
    (tmp_path / "file").touch()
    monkeypatch.setattr(importer, "COMPILED", str(tmp_path / "file"))
    assert importer.FolderModuleLoader("Sample.module", str(tmp_path / "module.py")).get_code("Sample.module")


def test_a_reload_unloads_first_and_leaves_submodules_alone(app: Application, sample: Path):
    app.loader.add(str(sample))
    plugin, events = sys.modules["Sample.plugin"], sys.modules["Sample.plugin"].events
    part = sys.modules["Sample.inner.part"]
    app.loader.reload_package("Sample")
    assert sys.modules["Sample.plugin"] is plugin
    assert sys.modules["Sample.inner.part"] is part
    assert events[-1] == "unloaded"
    assert plugin.events[0] == "loaded"
    assert len(app.listeners.global_) == 1


def test_a_removed_package_is_gone(app: Application, window: Any, sample: Path):
    app.loader.add(str(sample))
    events = sys.modules["Sample.plugin"].events
    app.loader.remove("Sample")
    assert events[-1] == "unloaded"
    window.run_command("http_server_start")
    assert events[-1] == "unloaded"
    assert "Sample.plugin" not in sys.modules
    assert app.listeners.global_ == []


def test_on_exit_comes_after_the_api_and_plugin_unloaded_never(app: Application, sample: Path):
    app.loader.add(str(sample))
    plugin = sys.modules["Sample.plugin"]
    app.shut_down()
    assert plugin.exits == [str(sample / "plugin.py")]
    assert "unloaded" not in plugin.events
    with pytest.raises(RuntimeError):
        sublime.windows()
    host.install(app)


def test_commands_get_their_names_and_arguments(app: Application, window: Any, sample: Path):
    app.loader.add(str(sample))
    window.run_command("http_server_start", {"word": "hi"})
    assert sys.modules["Sample.plugin"].events[-1] == ("run", "hi")


def test_all_says_what_is_a_plugin(app: Application, package: Callable[..., Any]):
    package("""
        __all__ = ("SeenCommand",)
        class SeenCommand(sublime_plugin.WindowCommand): pass
        class UnseenCommand(sublime_plugin.WindowCommand): pass
    """)
    assert list(app.commands.window) == ["seen"]


def test_a_plugin_that_fails_does_not_end_anything(app: Application, package: Callable[..., Any], capfd: Any):
    with pytest.raises(KeyError):
        package("raise RuntimeError('broken plugin')")
    assert "broken plugin" in capfd.readouterr().err


def test_a_failing_callback_is_printed_and_the_others_are_called(view: Any, package: Callable[..., Any], capfd: Any):
    plugin = package("""
        heard = []
        class Bad(sublime_plugin.EventListener):
            def on_modified(self, view): raise ValueError("bad listener")
        class Good(sublime_plugin.EventListener):
            def on_modified(self, view): heard.append(1)
        class BadCommand(sublime_plugin.TextCommand):
            def run(self, edit):
                self.view.insert(edit, 0, "x")
                raise ValueError("bad command")
    """)
    view.run_command("insert", {"characters": "x"})
    assert plugin.heard == [1]
    view.run_command("bad")
    assert plugin.heard == [1, 1]
    err = capfd.readouterr().err
    assert "bad listener" in err
    assert "bad command" in err
    assert not view.is_in_edit()


def test_a_command_that_is_not_enabled_does_not_run(view: Any, package: Callable[..., Any]):
    plugin = package("""
        ran = []
        class PickyCommand(sublime_plugin.TextCommand):
            def is_enabled(self, word=""): return word == "please"
            def run(self, edit, word=""): ran.append(word)
    """)
    view.run_command("picky")
    view.run_command("picky", {"word": "please"})
    assert plugin.ran == ["please"]


def test_listeners_may_rewrite_commands_and_hear_of_them(view: Any, window: Any, package: Callable[..., Any]):
    plugin = package("""
        heard = []
        class L(sublime_plugin.EventListener):
            def on_text_command(self, view, name, args):
                if name == "insert": return ("insert", {"characters": "other"})
            def on_post_text_command(self, view, name, args): heard.append((name, args))
            def on_window_command(self, window, name, args): heard.append(name)
            def on_post_window_command(self, window, name, args): heard.append("post " + name)
    """)
    view.run_command("insert", {"characters": "mine"})
    assert view.substr(view.line(0)) == "other"
    assert plugin.heard == [("insert", {"characters": "other"})]
    window.run_command("new_file")
    assert plugin.heard[1:] == ["new_file", "post new_file"]


def test_text_change_listeners_hear_what_has_changed_where(view: Any, package: Callable[..., Any]):
    plugin = package("""
        heard = []
        class T(sublime_plugin.TextChangeListener):
            def on_text_changed(self, changes):
                heard.extend((c.a.pt, c.a.row, c.a.col_utf16, c.b.pt, c.len_utf16, c.str) for c in changes)
    """)
    view.run_command("insert", {"characters": "é😀\nx"})
    view.sel().clear()
    view.sel().add(2)
    view.run_command("insert", {"characters": "!"})
    assert plugin.heard == [
        (0, 0, 0, 0, 0, "é😀"),
        (2, 0, 3, 2, 0, "\n"),
        (3, 1, 0, 3, 0, "x"),
        (2, 0, 3, 2, 0, "!"),
    ]


def test_input_handlers_ask_for_what_is_missing(app: Application, window: Any, package: Callable[..., Any]):
    plugin = package(
        """
        ran = []
        class ColourInputHandler(sublime_plugin.ListInputHandler):
            def list_items(self): return [("Red", "#f00"), sublime.ListInputItem("Blue", "#00f")]
            def next_input(self, args): return WordInputHandler() if "word" not in args else None
        class WordInputHandler(sublime_plugin.TextInputHandler):
            def validate(self, text): return text != ""
        class PaintCommand(sublime_plugin.WindowCommand):
            def input(self, args): return ColourInputHandler() if "colour" not in args else None
            def run(self, colour, word): ran.append((colour, word))
        """,
        **{"Default.sublime-commands": '[{"caption": "Paint", "command": "paint"}]'},
    )
    window.run_command("paint")
    app.questions.answer(app.windows[0], 1)
    app.questions.answer(app.windows[0], "")
    assert plugin.ran == []
    app.questions.answer(app.windows[0], "hello")
    assert plugin.ran == [("#00f", "hello")]


def test_key_bindings_obey_their_contexts(app: Application, view: Any, package: Callable[..., Any]):
    plugin = package(
        """
        ran = []
        class GoCommand(sublime_plugin.TextCommand):
            def run(self, edit, where): ran.append(where)
        class L(sublime_plugin.EventListener):
            def on_query_context(self, view, key, operator, operand, match_all):
                if key == "mine": return operator == sublime.OP_EQUAL and operand == "yes"
        """,
        Default__sublime_keymap="",
    )
    (Path(plugin.__file__).parent / "Default.sublime-keymap").write_text("""[
        {"keys": ["shift+ctrl+g"], "command": "go", "args": {"where": "setting"},
         "context": [{"key": "setting.here", "operand": true}]},
        {"keys": ["ctrl+shift+g"], "command": "go", "args": {"where": "listener"},
         "context": [{"key": "mine", "operand": "yes"}, {"key": "num_selections", "operand": 2}]},
        {"keys": ["ctrl+k", "ctrl+s"], "command": "go", "args": {"where": "scope"},
         "context": [{"key": "selector", "operand": "source.python - comment"},
                     {"key": "preceding_text", "operator": "regex_contains", "operand": "b$"}]},
        {"keys": ["f5"], "command": "go", "context": [{"key": "unknown"}]},
    ]""")
    assert keymap.press(app, app.views[view.id()], ["ctrl+shift+g"]) is None
    view.settings().set("here", True)
    assert keymap.press(app, app.views[view.id()], ["ctrl+shift+g"]) == "go"
    view.run_command("append", {"characters": "ab ab"})
    view.sel().clear()
    view.sel().add_all([2, 5])
    keymap.press(app, app.views[view.id()], ["ctrl+shift+g"])
    assert keymap.press(app, app.views[view.id()], ["ctrl+k", "ctrl+s"]) is None
    view.assign_syntax("scope:source.python")
    keymap.press(app, app.views[view.id()], ["ctrl+k", "ctrl+s"])
    assert plugin.ran == ["setting", "listener", "scope"]
    assert keymap.press(app, app.views[view.id()], ["f5"]) is None
    keymap.press(app, app.views[view.id()], ["q"])
    assert view.substr(view.line(0)) == "abq abq"


def test_a_module_that_is_saved_is_loaded_anew_also_after_a_mistake(
    app: Application, window: Any, package: Callable[..., Any], capfd: Any
):
    plugin = package("VALUE = 1")
    file = Path(plugin.__file__)
    for text, expected in (("VALUE = ", 1), ("VALUE = 2", 2), ("VALUE = 3", 3)):
        file.write_text(text)
        app.loader.file_saved(str(file))
        assert expected == sys.modules["Sample.plugin"].VALUE
    assert "SyntaxError" in capfd.readouterr().err
