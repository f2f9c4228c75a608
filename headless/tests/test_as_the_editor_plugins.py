"""What the real editor does with packages, commands and listeners, each with its source.

P: the editor's own sublime_plugin.py or sublime.py of its Python 3.14 host. D: its documentation. I#n: an issue of the
editor's tracker. T:x: a test of the package x that passes in the real editor. K: known from using it, and weighed so.
"""

from __future__ import annotations

import io
import os
import ssl
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sublime
import sublime_plugin

from headless import keymap, modules
from headless.app import Application
from headless.commands import snake_name
from headless.paths import Paths

Package = Callable[..., Any]


# -- loading packages ----------------------------------------------------------------------------


def test_the_packages_own_commands_are_not_there_yet_in_plugin_loaded(window: Any, package: Package):
    """I#5978, SublimeLinter/SublimeLinter#1906: the host makes the commands once the module has been loaded."""
    plugin = package("""
        log = []
        class OwnCommand(sublime_plugin.WindowCommand):
            def run(self): log.append("ran")
        def plugin_loaded(): sublime.active_window().run_command("own")
    """)
    assert plugin.log == []
    window.run_command("own")
    assert plugin.log == ["ran"]


def test_listeners_hear_what_plugin_loaded_does(package: Package):
    """P: load_module registers the listeners before it calls plugin_loaded."""
    plugin = package("""
        log = []
        class L(sublime_plugin.EventListener):
            def on_new_window(self, window): log.append("new window")
        def plugin_loaded(): sublime.run_command("new_window")
    """)
    assert plugin.log == ["new window"]


DEEP = {
    "plugin.py": "from .inner.sub import Deep\n",
    "inner/sub.py": """
import sublime_plugin
log = []
class Deep(sublime_plugin.EventListener):
    def on_init(self, views): log.append("init")
""",
}


@pytest.mark.parametrize(("started", "told"), [(False, ["init"]), (True, [])])
def test_on_init_of_a_listener_from_a_deeper_module_comes_at_the_start_alone(
    app: Application, tmp_path: Path, started: bool, told: list[str]
):
    """P: on_init tells, after a reload, the listeners whose class is defined in the root module itself."""
    (tmp_path / "Deep" / "inner").mkdir(parents=True)
    for name, text in DEEP.items():
        (tmp_path / "Deep" / name).write_text(text)
    app.started = started
    app.loader.add(str(tmp_path / "Deep"))
    assert sys.modules["Deep.inner.sub"].log == told


def test_on_init_of_view_listeners_is_called(view: Any, package: Package):
    """P: on_init."""
    plugin = package("""
        log = []
        class V(sublime_plugin.ViewEventListener):
            def on_init(self): log.append(self.view.id())
    """)
    assert plugin.log == [view.id()]


def test_a_text_listener_hears_of_a_new_buffer_at_once_and_is_detached_when_it_closes(window: Any, package: Package):
    """P: attach_buffer in on_new_buffer, detach_buffer in on_close_buffer; detach keeps `buffer`."""
    plugin = package("""
        log = []
        class T(sublime_plugin.TextChangeListener):
            def attach(self, buffer):
                log.append(("attached", buffer.id(), self))
                super().attach(buffer)
        class L(sublime_plugin.EventListener):
            def on_new_buffer(self, buffer): log.append(("new", buffer.id()))
            def on_close_buffer(self, buffer): log.append(("closed", buffer.id()))
    """)
    del plugin.log[:]
    view = window.new_file()
    number = view.buffer_id()
    listener = plugin.log[0][2]
    assert [entry[:2] for entry in plugin.log] == [("attached", number), ("new", number)]
    assert listener.is_attached()
    view.close()
    assert plugin.log[-1] == ("closed", number)
    assert not listener.is_attached()
    assert listener.buffer.id() == number
    with pytest.raises(ValueError, match="not attached"):
        listener.detach()


def test_a_listener_that_inherits_a_callback_cant_be_loaded(app: Application, tmp_path: Path):
    """P: decorate_handler takes the method from the class's own __dict__, which raises KeyError."""
    (tmp_path / "Heir").mkdir()
    (tmp_path / "Heir" / "plugin.py").write_text(
        "import sublime_plugin\n"
        "class A(sublime_plugin.EventListener):\n    def on_clone(self, view): pass\n"
        "class B(A): pass\n"
    )
    assert app.loader.add(str(tmp_path / "Heir")) == ["Heir.plugin"]


def test_a_sub_package_of_a_zip_has_the_zip_as_its_path_and_no_files(app: Application, tmp_path: Path):
    """P: PackagePathFinder.find_spec. importlib.resources looks beside `__file__`, which is no folder."""
    path = tmp_path / "Zip.sublime-package"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sub/__init__.py", "")
        archive.writestr("sub/data.txt", "data")
        archive.writestr("main.py", "from . import sub\n")
    app.loader.add(str(path))
    sub = sys.modules["Zip.sub"]
    assert list(sub.__path__) == [str(path)]
    import importlib.resources

    with pytest.raises(OSError):
        (importlib.resources.files(sub) / "data.txt").read_text()
    app.loader.remove("Zip")
    # P: unload_plugin forgets the root modules alone.
    assert "Zip.main" not in sys.modules
    assert "Zip.sub" in sys.modules
    del sys.modules["Zip.sub"]


def test_a_loose_file_overrides_the_same_one_of_a_zip_but_no_package(app: Application, tmp_path: Path):
    """P: PackagePathFinder.find_spec asks for `__init__.py` before `.py`, whatever holds it."""
    path = tmp_path / "Zip.sublime-package"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inner/__init__.py", "")
        archive.writestr("inner/same.py", "WHERE = 'zip'")
        archive.writestr("other/__init__.py", "WHERE = 'zip'")
        archive.writestr("main.py", "from . import other\nfrom .inner import same\n")
    loose = Path(app.paths.packages) / "Zip"
    (loose / "inner").mkdir(parents=True)
    for name in ("inner/same", "other"):
        (loose / f"{name}.py").write_text("WHERE = 'loose'")
    app.loader.add(str(path))
    assert sys.modules["Zip.inner.same"].WHERE == "loose"
    assert sys.modules["Zip.other"].WHERE == "zip"


def test_the_hosts_stdout_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """P: _LogWriter, an io.TextIOBase."""
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", shown)
    app = Application(Paths(str(tmp_path / "data"), str(tmp_path / "cache")))
    try:
        assert sys.stdout.encoding is None
        with pytest.raises(io.UnsupportedOperation):
            sys.stdout.fileno()
        assert not sys.stdout.writable()
        assert sys.stdout.write("") is None
        print("one line")
    finally:
        app.dispose()
    assert sys.stdout is shown
    shown.seek(0)
    assert shown.read() == "one line\n"


# -- commands and listeners ----------------------------------------------------------------------


def test_the_views_own_listener_is_asked_first_and_the_first_answer_counts(view: Any, package: Package):
    """P: on_text_command."""
    plugin = package("""
        log = []
        class OrderCommand(sublime_plugin.TextCommand):
            def run(self, edit): log.append("ran")
        class G(sublime_plugin.EventListener):
            def on_text_command(self, view, name, args):
                if name == "order": log.append("global"); return ("noop", {})
        class V(sublime_plugin.ViewEventListener):
            def on_text_command(self, name, args):
                if name == "order": log.append("own"); return ("noop", {})
    """)
    view.run_command("order")
    assert plugin.log == ["own"]


def test_a_listener_may_answer_with_a_commands_name_alone(view: Any, package: Package):
    """P: on_text_command."""
    plugin = package("""
        log = []
        class OrderCommand(sublime_plugin.TextCommand):
            def run(self, edit): log.append("ran")
        class OtherCommand(sublime_plugin.TextCommand):
            def run(self, edit): log.append("other")
        class G(sublime_plugin.EventListener):
            def on_text_command(self, view, name, args):
                if name == "order": return "other"
    """)
    view.run_command("order", {"x": 1})
    assert plugin.log == ["other"]


def test_a_false_of_one_listener_does_not_outvote_a_true_of_another(app: Application, view: Any, package: Package):
    """P: on_query_context."""
    package("""
        class A(sublime_plugin.EventListener):
            def on_query_context(self, view, key, operator, operand, match_all): return False if key == "k" else None
        class B(sublime_plugin.EventListener):
            def on_query_context(self, view, key, operator, operand, match_all): return True if key == "k" else None
    """)
    assert keymap.matches(app, app.views[view.id()], [{"key": "k"}])


ASKING = """
    log = []
    class WordInputHandler(sublime_plugin.TextInputHandler): pass
    class KeywordCommand(sublime_plugin.WindowCommand):
        def run(self, *, word): log.append(word)
        def input(self, args): return WordInputHandler()
    class PositionalCommand(sublime_plugin.WindowCommand):
        def run(self, word): log.append(word)
        def input(self, args): return WordInputHandler()
    class UnlistedCommand(PositionalCommand): pass
    class UnsureCommand(sublime_plugin.WindowCommand):
        def run(self): log.append("unsure")
        def is_enabled(self): return None
"""


@pytest.mark.parametrize(("command", "asks"), [("keyword", False), ("positional", True), ("unlisted", False)])
def test_only_a_missing_positional_argument_of_a_command_in_the_palette_is_asked_for(
    app: Application, window: Any, package: Package, command: str, asks: bool
):
    """P: run_ looks for "required positional argument" in the error. D: the command must be in the palette."""
    palette = '[{"caption": "A", "command": "keyword"}, {"caption": "B", "command": "positional"}]'
    plugin = package(ASKING, **{"Default.sublime-commands": palette})
    window.run_command(command)
    assert (app.windows[0].question is not None) == asks
    assert plugin.log == []


def test_is_enabled_must_say_yes_or_no(window: Any, package: Package):
    """P: is_enabled_."""
    plugin = package(ASKING)
    window.run_command("unsure")
    assert plugin.log == []
    with pytest.raises(ValueError, match="bool"):
        plugin.UnsureCommand(window).is_enabled_({})


def test_filter_args_takes_the_mouse_event_away(window: Any):
    """P: Command.filter_args. T:SublimeLinter calls it."""
    command: Any = sublime_plugin.WindowCommand(window)
    assert command.filter_args({"a": 1, "event": {}}) == {"a": 1}
    assert command.filter_args(None) is None


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        ("FooHTMLBarCommand", "foo_html_bar"),
        ("A1BCommand", "a1_b"),
        ("Foo_BarCommand", "foo_bar"),
        ("X2yZCommand", "x2y_z"),
        ("Foo_Command", "foo"),
        ("iOSCommand", "i_os"),
        ("FooCommandBar", "foo_command_bar"),
        ("Command", "command"),
    ],
)
def test_names_of_commands(cls: str, name: str):
    """P: split_identifier."""
    assert snake_name(cls, "Command") == name


def test_each_run_command_runs_its_own_kind(view: Any, window: Any, package: Package):
    """D: View.run_command and sublime.run_command; Window.run_command runs any kind."""
    plugin = package("""
        log = []
        class OfWindowsCommand(sublime_plugin.WindowCommand):
            def run(self): log.append("window")
        class OfTextsCommand(sublime_plugin.TextCommand):
            def run(self, edit): log.append("text")
    """)
    view.run_command("of_windows")
    sublime.run_command("of_windows")
    sublime.run_command("of_texts")
    assert plugin.log == []
    view.run_command("of_texts")
    window.run_command("of_texts")
    window.run_command("of_windows")
    assert plugin.log == ["text", "text", "window"]


def test_child_processes_are_told_which_certificates_to_trust(monkeypatch: pytest.MonkeyPatch):
    """P: the end of sublime_plugin.py sets SSL_CERT_FILE, unless it is set."""
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: SimpleNamespace(cafile="certificates"))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    modules.install()
    assert os.environ["SSL_CERT_FILE"] == "certificates"
    monkeypatch.setenv("SSL_CERT_FILE", "mine")
    modules.install()
    assert os.environ["SSL_CERT_FILE"] == "mine"
