"""The switches of the console's logs. Only that of commands has an effect here."""

from __future__ import annotations

from collections.abc import Callable

from headless.host import app


def _switch(name: str) -> tuple[Callable[[bool | None], None], Callable[[], bool]]:
    """Functions that set a switch (None turns it on or off), and that get it."""

    def log(flag: bool | None = None) -> None:
        flags = app().log_flags
        flags[name] = not flags.get(name, False) if flag is None else flag

    def get() -> bool:
        return app().log_flags.get(name, False)

    return log, get


log_commands, get_log_commands = _switch("commands")
log_input, get_log_input = _switch("input")
log_fps, get_log_fps = _switch("fps")
log_result_regex, get_log_result_regex = _switch("result_regex")
log_indexing, get_log_indexing = _switch("indexing")
log_build_systems, get_log_build_systems = _switch("build_systems")
log_control_tree, get_log_control_tree = _switch("control_tree")
