"""Settings: dictionaries that inherit from others and tell when they change."""

from __future__ import annotations

import copy
import os
import weakref
from collections.abc import Callable
from typing import Any

from headless import jsonc
from headless.files import FileStamp, replace_file
from headless.loop import report_exception

DEFAULT_PREFERENCES: dict[str, Any] = {
    "auto_complete": True,
    "auto_indent": True,
    "auto_match_enabled": True,
    "binary_file_patterns": ["*.jpg", "*.jpeg", "*.png", "*.gif", "*.ttf", "*.tga", "*.dds", "*.ico", "*.eot", "*.pdf"],
    "caret_style": "smooth",
    "close_windows_when_empty": False,
    "copy_with_empty_selection": True,
    "color_scheme": "Mariana.sublime-color-scheme",
    "default_encoding": "UTF-8",
    "default_line_ending": "system",
    "detect_indentation": True,
    "ensure_newline_at_eof_on_save": False,
    "fallback_encoding": "Western (Windows 1252)",
    "file_exclude_patterns": ["*.pyc", "*.pyo", "*.exe", "*.dll", "*.obj", "*.o", "*.a", "*.lib", "*.so", ".DS_Store"],
    "folder_exclude_patterns": [".svn", ".git", ".hg", "CVS", ".Trash", ".Trash-*"],
    "font_face": "",
    "font_size": 10,
    "gutter": True,
    "hot_exit": True,
    "ignored_packages": [],
    "index_exclude_patterns": ["*.log"],
    "is_widget": False,
    "line_numbers": True,
    "mini_diff": True,
    "reload_file_on_change": True,
    "rulers": [],
    "save_on_focus_lost": False,
    "scroll_past_end": True,
    "smart_indent": True,
    "tab_size": 4,
    "theme": "Default.sublime-theme",
    "translate_tabs_to_spaces": False,
    "trim_automatic_white_space": True,
    "trim_trailing_white_space_on_save": "none",
    "word_separators": "./\\()\"'-:,.;<>~!@#$%^&*|+=[]{}`~?",
    "word_wrap": "auto",
}


class SettingsState:
    """One dictionary of settings in a chain.

    `parents` gives the dictionaries to look in when this one has no such key, the nearest
    first. A change here also tells the listeners of the settings that inherit from it.
    """

    def __init__(self, id: int, parents: Callable[[], list[SettingsState]] | None = None) -> None:
        self.id = id
        self.own: dict[str, Any] = {}
        self.listeners: list[tuple[str, Callable[[], None]]] = []
        self.parents = parents or list
        # Whether others may inherit from these; those of a view have none below them.
        self.is_inherited = True

    def lookup(self, key: str) -> tuple[bool, Any]:
        """Whether `key` is set here or above, and its value."""
        if key in self.own:
            return True, self.own[key]
        for parent in self.parents():
            found, value = parent.lookup(key)
            if found:
                return True, value
        return False, None

    def get(self, key: str, default: Any = None) -> Any:
        """A copy of the value of `key`, or `default`."""
        found, value = self.lookup(key)
        return copy.deepcopy(value) if found else default

    def flattened(self) -> dict[str, Any]:
        """All settings, those above included."""
        result: dict[str, Any] = {}
        for parent in reversed(self.parents()):
            result.update(parent.flattened())
        result.update(copy.deepcopy(self.own))
        return result

    def inherits_from(self, other: SettingsState) -> bool:
        """Whether a change of `other` may be seen here."""
        return any(p is other or p.inherits_from(other) for p in self.parents())


class FileSettings(SettingsState):
    """Settings of a `.sublime-settings` name: packages' defaults, then the user's file."""

    def __init__(self, id: int, name: str, user_file: str) -> None:
        self.defaults = SettingsState(0)
        super().__init__(id, lambda: [self.defaults])
        self.name = name
        self.user_file = user_file
        self.stamp: FileStamp | None = None

    def read_user_file(self) -> bool:
        """Take over the user's file; True if that changed a value."""
        self.stamp = FileStamp.of(self.user_file)
        before, self.own = self.own, {}
        if self.stamp is not None:
            try:
                with open(self.user_file, encoding="utf-8") as file:
                    self.own = dict(jsonc.loads(file.read()))
            except (OSError, ValueError):
                report_exception()
        return before != self.own

    def write_user_file(self) -> None:
        """Write the values that differ from the packages' defaults to the user's file."""
        replace_file(self.user_file, (jsonc.dumps(self.own, pretty=True) + "\n").encode())
        self.stamp = FileStamp.of(self.user_file)


class SettingsStore:
    """All settings of the editor, by id and, where they have a file, by name."""

    def __init__(self, user_folder: str, load_defaults: Callable[[str], list[str]]) -> None:
        self._user_folder = user_folder
        self._load_defaults = load_defaults
        self._by_id: weakref.WeakValueDictionary[int, SettingsState] = weakref.WeakValueDictionary()
        self._by_name: dict[str, FileSettings] = {}
        self._next_id = 1
        # Runs the listeners of a change; the application puts them on the UI thread.
        self.deliver: Callable[[list[Callable[[], None]]], None] = lambda callbacks: None
        self.preferences = self.named("Preferences.sublime-settings")

    def new(self, parents: Callable[[], list[SettingsState]] | None = None) -> SettingsState:
        """Settings without a file, below `parents`."""
        state = SettingsState(self._take_id(), parents)
        self._by_id[state.id] = state
        return state

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def by_id(self, id: int) -> SettingsState:
        """The settings with this id; empty ones if they are gone."""
        return self._by_id.get(id) or SettingsState(id)

    def named(self, name: str) -> FileSettings:
        """The settings of a file name, loaded when first asked for."""
        if name not in self._by_name:
            state = FileSettings(self._take_id(), name, os.path.join(self._user_folder, name))
            self._by_name[name] = self._by_id[state.id] = state
            self._collate(state)
            state.read_user_file()
        return self._by_name[name]

    def _collate(self, state: FileSettings) -> None:
        if state.name == "Preferences.sublime-settings":
            state.defaults.own.update(copy.deepcopy(DEFAULT_PREFERENCES))
        for text in self._load_defaults(state.name):
            try:
                state.defaults.own.update(jsonc.loads(text))
            except ValueError:
                report_exception()

    def packages_changed(self) -> None:
        """Merge the defaults again, since a package has been added or removed."""
        for state in self._by_name.values():
            before, state.defaults.own = state.defaults.own, {}
            self._collate(state)
            if before != state.defaults.own:
                self.changed(state)

    def poll(self) -> None:
        """Look whether a user's file has changed on disk."""
        for state in list(self._by_name.values()):
            if FileStamp.of(state.user_file) != state.stamp and state.read_user_file():
                self.changed(state)

    def set(self, state: SettingsState, key: str, value: Any) -> None:
        """Set a value, and tell the listeners if it has changed."""
        if key in state.own and state.own[key] == value and type(state.own[key]) is type(value):
            return
        state.own[key] = copy.deepcopy(value)
        self.changed(state)

    def erase(self, state: SettingsState, key: str) -> None:
        """Remove a value from this dictionary; one above may still have it."""
        if key in state.own:
            del state.own[key]
            self.changed(state)

    def changed(self, state: SettingsState) -> None:
        """Tell the listeners of `state` and of those that inherit from it."""
        callbacks = [callback for _, callback in state.listeners]
        for other in list(self._by_id.values()) if state.is_inherited else ():
            if other is not state and other.listeners and other.inherits_from(state):
                callbacks += [callback for _, callback in other.listeners]
        if callbacks:
            self.deliver(callbacks)
