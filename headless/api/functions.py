"""The functions of the module `sublime`."""

from __future__ import annotations

import os
import platform as _host_platform
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from headless import jsonc, paths, schemes, scopes, syntaxes
from headless.api.flags import DialogResult
from headless.api.settings import Settings
from headless.api.types import CommandArgsLike, Value, ValueLike
from headless.host import app, locked, not_offered

if TYPE_CHECKING:
    from headless.api.items import Syntax
    from headless.api.sheet import Buffer
    from headless.api.window import Window

VERSION = "4215"


class FileTooLargeError(FileNotFoundError):
    """A resource is larger than the caller allows."""


def version() -> str:
    """The build that the stand-in imitates."""
    return VERSION


def platform() -> Literal["osx", "linux", "windows"]:
    """The operating system."""
    return paths.platform()


def arch() -> Literal["x32", "x64", "arm64"]:
    """The processor."""
    machine = _host_platform.machine().lower()
    if machine in ("arm64", "aarch64"):
        return "arm64"
    return "x64" if "64" in machine else "x32"


def channel() -> Literal["dev", "stable"]:
    """The release channel."""
    return "stable"


def executable_path() -> str:
    """The path of the program: the Python interpreter."""
    return sys.executable


def executable_hash() -> tuple[str, str, str]:
    """Three strings that tell installations apart."""
    return version(), channel(), executable_path()


def packages_path() -> str:
    """Where loose packages are."""
    return app().paths.packages


def installed_packages_path() -> str:
    """Where zipped packages are."""
    return app().paths.installed_packages


def cache_path() -> str:
    """Where caches are."""
    return app().paths.cache


def lib_path() -> str:
    """Where libraries are."""
    return app().paths.lib


# -- messages and dialogs --------------------------------------------------------------------------


def status_message(msg: str) -> None:
    """Show a message in the status bar of the active window."""
    app().message("status", msg)


def error_message(msg: str) -> None:
    """Show an error; it is kept for the tests to see."""
    print(f"error: {msg}")
    app().message("error_message", msg)


def message_dialog(msg: str) -> None:
    """Show a message; it is kept for the tests to see."""
    app().message("message_dialog", msg)


def ok_cancel_dialog(msg: str, ok_title: str = "", title: str = "") -> bool:
    """Ask ok or cancel; cancelled if no answer has been prepared."""
    return bool(app().ask("ok_cancel_dialog", msg, False, buttons=[ok_title]))


def yes_no_cancel_dialog(msg: str, yes_title: str = "", no_title: str = "", title: str = "") -> DialogResult:
    """Ask yes, no or cancel; cancelled if no answer has been prepared."""
    answer = app().ask("yes_no_cancel_dialog", msg, 0, buttons=[yes_title, no_title])
    return DialogResult(int(answer))


def open_dialog(
    callback: Callable[[str | list[str] | None], None],
    file_types: list[tuple[str, list[str]]] = [],  # noqa: B006 - the documented default
    directory: str | None = None,
    multi_select: bool = False,
    allow_folders: bool = False,
) -> None:
    """Ask for a file; cancelled if no answer has been prepared."""
    _file_dialog("open_dialog", callback)


def save_dialog(
    callback: Callable[[str | None], None],
    file_types: list[tuple[str, list[str]]] = [],  # noqa: B006 - the documented default
    directory: str | None = None,
    name: str | None = None,
    extension: str | None = None,
) -> None:
    """Ask for a file to save to; cancelled if no answer has been prepared."""
    _file_dialog("save_dialog", callback)


def select_folder_dialog(
    callback: Callable[[str | list[str] | None], None],
    directory: str | None = None,
    multi_select: bool = False,
) -> None:
    """Ask for a folder; cancelled if no answer has been prepared."""
    _file_dialog("select_folder_dialog", callback)


def _file_dialog(kind: str, callback: Callable[[Any], None]) -> None:
    answer = app().ask(kind, "", None)
    set_timeout(lambda: callback(answer))


def choose_font_dialog(
    callback: Callable[[dict[str, Any] | None], None], default: dict[str, Any] | None = None
) -> None:
    """Not offered."""
    raise not_offered("sublime.choose_font_dialog")


# -- commands and the clipboard --------------------------------------------------------------------


def run_command(cmd: str, args: CommandArgsLike | None = None) -> None:
    """Run an application command."""
    app().commands.run(cmd, dict(args) if args else None, None, None)


def get_clipboard_async(callback: Callable[[str], None], size_limit: int = 16777216) -> None:
    """Give the clipboard's text to `callback`."""
    set_timeout(lambda: callback(get_clipboard(size_limit)))


def get_clipboard(size_limit: int = 16777216) -> str:
    """The clipboard's text; it is the stand-in's own and not the system's."""
    text = app().clipboard
    return text if len(text) <= size_limit else ""


def set_clipboard(text: str) -> None:
    """Put a text into the clipboard."""
    app().clipboard = text


# -- resources and values --------------------------------------------------------------------------


def load_resource(name: str, max_size: int = 16777216) -> str:
    """The text of `Packages/<package>/<path>`."""
    return load_binary_resource(name, max_size).decode("utf-8").replace("\r\n", "\n")


@locked
def load_binary_resource(name: str, max_size: int = 16777216) -> bytes:
    """The bytes of `Packages/<package>/<path>`."""
    packages = app().packages
    if packages.size(name) > max_size:
        raise FileTooLargeError(f"{name} is larger than {max_size} bytes")
    return packages.read(name)


@locked
def find_resources(pattern: str) -> list[str]:
    """The resources whose file name matches a glob pattern."""
    return app().packages.find(pattern)


def encode_value(value: ValueLike, pretty: bool = False, update_text: str | None = None) -> str:
    """The JSON text of a value; updating another text in place is not offered."""
    if update_text is not None:
        raise not_offered("sublime.encode_value(update_text=…)")
    return jsonc.dumps(value, pretty)


def decode_value(data: str) -> Value:
    """The value of a JSON text, comments and trailing commas allowed."""
    return jsonc.loads(data)


_VARIABLE = re.compile(r"\\(\$)|\$(\w+)|\$\{(\w+)(?::((?:[^{}\\]|\\.)*))?\}")


def expand_variables(value: ValueLike, variables: dict[str, str]) -> Value:
    """Put variables into the strings of a value: `$name`, `${name}`, `${name:default}`."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _expanded(match, variables), value)
    if isinstance(value, dict):
        return {key: expand_variables(each, variables) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [expand_variables(each, variables) for each in value]
    return value  # type: ignore[return-value]


def _expanded(match: re.Match[str], variables: dict[str, str]) -> str:
    escaped, short, name, default = match.groups()
    if escaped:
        return str(escaped)
    return str(variables.get(short or name, default or ""))


def load_settings(base_name: str) -> Settings:
    """The settings of a file name: the packages' ones, then the user's."""
    with app().lock:
        return Settings(app().settings.named(base_name).id)


@locked
def save_settings(base_name: str) -> None:
    """Write the user's values of a settings file."""
    app().settings.named(base_name).write_user_file()


# -- threads and windows ---------------------------------------------------------------------------


def set_timeout(callback: Callable[[], object], delay: int = 0) -> None:
    """Run `callback` on the UI thread in `delay` milliseconds."""
    app().loop.post(callback, delay / 1000)


def set_timeout_async(callback: Callable[[], object], delay: int = 0) -> None:
    """Run `callback` on the worker thread in `delay` milliseconds."""
    app().loop.worker.post(callback, delay / 1000)


def active_window() -> Window:
    """The window used last."""
    from headless.api.window import Window

    window = app().active_window()
    return Window(window.id if window else 0)


@locked
def windows() -> list[Window]:
    """All windows."""
    return [app().window_handle(window) for window in app().windows]


@locked
def _buffers() -> list[Buffer]:
    """All buffers; not documented, but packages use it."""
    return [app().buffer_handle(buffer) for buffer in app().listeners.buffers()]


def get_macro() -> list[dict[str, Any]]:
    """Not offered."""
    raise not_offered("sublime.get_macro")


def project_history() -> list[str]:
    """Not offered."""
    raise not_offered("sublime.project_history")


def folder_history() -> list[str]:
    """Not offered."""
    raise not_offered("sublime.folder_history")


def ui_info() -> dict[str, Any]:
    """What the user interface looks like."""
    scheme = schemes.SCHEMES[app().scheme]
    preferences = app().settings.preferences
    theme = preferences.get("theme")
    return {
        "system": {"style": app().scheme},
        "theme": {"value": theme, "resolved_value": theme, "style": app().scheme},
        "color_scheme": {
            "value": preferences.get("color_scheme"),
            "resolved_value": scheme.file,
            "palette": scheme.palette(),
        },
    }


def score_selector(scope_name: str, selector: str) -> int:
    """How well a selector matches a scope; 0 if it does not."""
    return scopes.score(scope_name, selector)


# -- syntaxes --------------------------------------------------------------------------------------


def list_syntaxes() -> list[Syntax]:
    """All syntaxes."""
    return list(syntaxes.SYNTAXES)


def syntax_from_path(path: str) -> Syntax | None:
    """The syntax with a packages path."""
    return syntaxes.syntax_by_path(path)


def find_syntax_by_name(name: str) -> list[Syntax]:
    """The syntaxes with exactly this name."""
    return [syntax for syntax in list_syntaxes() if syntax.name == name]


def find_syntax_by_scope(scope: str) -> list[Syntax]:
    """The syntaxes with exactly this scope."""
    return syntaxes.syntaxes_by_scope(scope)


def find_syntax_for_file(path: str, first_line: str = "") -> Syntax | None:
    """The syntax for a file, by its name or first line."""
    if not isinstance(first_line, str):
        raise TypeError("a str is required for first_line")
    return syntaxes.syntax_for_file(os.fspath(path), first_line)
