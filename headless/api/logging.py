"""The switches of the console's logs. Only that of commands has an effect here."""

from __future__ import annotations

from headless.host import app


def _switch(name: str, flag: bool | None) -> None:
    flags = app().log_flags
    flags[name] = not flags.get(name, False) if flag is None else flag


def _is_on(name: str) -> bool:
    return app().log_flags.get(name, False)


def log_commands(flag: bool | None = None) -> None:
    """Log commands; None turns it on or off."""
    _switch("commands", flag)


def get_log_commands() -> bool:
    """Whether commands are logged."""
    return _is_on("commands")


def log_input(flag: bool | None = None) -> None:
    """Remember the switch for key presses."""
    _switch("input", flag)


def get_log_input() -> bool:
    """The switch for key presses."""
    return _is_on("input")


def log_fps(flag: bool | None = None) -> None:
    """Remember the switch for rendering times."""
    _switch("fps", flag)


def get_log_fps() -> bool:
    """The switch for rendering times."""
    return _is_on("fps")


def log_result_regex(flag: bool | None = None) -> None:
    """Remember the switch for result expressions."""
    _switch("result_regex", flag)


def get_log_result_regex() -> bool:
    """The switch for result expressions."""
    return _is_on("result_regex")


def log_indexing(flag: bool | None = None) -> None:
    """Remember the switch for indexing."""
    _switch("indexing", flag)


def get_log_indexing() -> bool:
    """The switch for indexing."""
    return _is_on("indexing")


def log_build_systems(flag: bool | None = None) -> None:
    """Remember the switch for build systems."""
    _switch("build_systems", flag)


def get_log_build_systems() -> bool:
    """The switch for build systems."""
    return _is_on("build_systems")


def log_control_tree(flag: bool | None = None) -> None:
    """Remember the switch for the control tree."""
    _switch("control_tree", flag)


def get_log_control_tree() -> bool:
    """The switch for the control tree."""
    return _is_on("control_tree")
