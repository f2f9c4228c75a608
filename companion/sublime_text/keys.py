"""The keys of the package's commands as the person has them, for the messages that name one.

The editor has no function for that, so the keymaps are read: this package's, and those in the folder `User`, which the
editor loads last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sublime

from ..json_text import as_list, as_object

OWN = "qwen_companion"
"""What our commands and the contexts of our keys begin with."""
_IS_MAC = sublime.platform() == "osx"
_FILES = [
    f"Packages/{package}/Default{system}.sublime-keymap"
    for package in ("QwenCompanion", "User")
    for system in ("", f" ({ {'osx': 'OSX', 'linux': 'Linux', 'windows': 'Windows'}[sublime.platform()] })")
]
"""In the order in which the editor loads them: of two bindings of a key, the later one is run."""
_PRIMARY = "super" if _IS_MAC else "ctrl"
_NAMES = {"control": "ctrl", "command": "super", "option": "alt", "primary": _PRIMARY, "escape": "esc"}
_GLYPHS = {"super": "⌘", "ctrl": "⌃", "alt": "⌥", "shift": "⇧"}
_ORDER = ("ctrl", "alt", "shift", "super")


class _Binding(NamedTuple):
    keys: tuple[str, ...]
    command: str
    args: Mapping[str, Any]
    is_for_us: bool
    """It is active in every view, or where a binding of ours is."""
    is_everywhere: bool
    """It has no context."""


class Keys:
    """The bindings of our commands. Used on the UI thread only."""

    def __init__(self) -> None:
        self._bindings: list[_Binding] | None = None

    def of(self, command: str, *, works_everywhere: bool = False, **args: Any) -> str:
        """The key of a command of ours with these arguments, such as “Ctrl+F8”; empty if the person has none for it.

        Of `command`, the part after the package's name is given. The argument `by_key` is left out. With
        `works_everywhere`, only a key that works in every view counts.
        """
        if self._bindings is None:
            self._bindings = [binding for name in _FILES for binding in _read(name)]
        wanted = f"{OWN}_{command}"
        taken: set[tuple[str, ...]] = set()
        for binding in reversed(self._bindings):
            is_wanted = binding.command == wanted and binding.args == args and binding.keys not in taken
            if is_wanted and (binding.is_everywhere or not works_everywhere):
                return _typed(binding.keys) or ", ".join(map(_shown, binding.keys))
            if binding.command != wanted and binding.is_for_us and not binding.command.startswith(OWN):
                taken.add(binding.keys)
        return ""

    def after(self, words: str, command: str, **args: Any) -> str:
        """Words with the key of a command behind them, such as “Accept Ctrl+S”; the words alone without one."""
        return " ".join(filter(None, (words, self.of(command, **args))))

    def in_brackets(self, command: str, **args: Any) -> str:
        """The key of a command such as “ (F8)”, to be put behind a sentence; empty without one."""
        key = self.of(command, **args)
        return f" ({key})" if key else ""

    def forget(self) -> None:
        """A keymap was saved: read them again when a key is asked for."""
        self._bindings = None


def _read(name: str) -> list[_Binding]:
    """The bindings of a keymap; none if it isn't there or can't be read, of which the editor itself tells."""
    try:
        found = sublime.decode_value(sublime.load_resource(name))
    except (OSError, ValueError):
        return []
    return [binding for each in as_list(found) if (binding := _binding(as_object(each)))]


def _binding(each: Mapping[str, Any]) -> _Binding | None:
    """A binding of a keymap; None if it has no keys, or something else in their place."""
    keys = as_list(each.get("keys"))
    if not keys or not all(isinstance(key, str) and key for key in keys):
        return None
    args = {name: value for name, value in as_object(each.get("args")).items() if name != "by_key"}
    contexts = [str(as_object(context).get("key", "")) for context in as_list(each.get("context"))]
    is_everywhere = not each.get("context")
    is_for_us = is_everywhere or any(context.startswith(OWN) for context in contexts)
    return _Binding(tuple(map(_normalized, keys)), str(each.get("command", "")), args, is_for_us, is_everywhere)


def _normalized(key: str) -> str:
    held, last = _parted(key.lower())
    modifiers = {_NAMES.get(each, each) for each in held}
    return "+".join([*(each for each in _ORDER if each in modifiers), _NAMES.get(last, last)])


def _typed(keys: Sequence[str]) -> str:
    """The character that a key types where keys are commands: “n” and “N”; empty if it is another key."""
    held, last = _parted(keys[0])
    is_typed = len(keys) == 1 and len(last) == 1 and held in ([], ["shift"])
    return (last.upper() if held else last) if is_typed else ""


def _shown(key: str) -> str:
    held, last = _parted(key)
    last = last.upper() if len(last) == 1 else last.capitalize()
    if _IS_MAC:
        return "".join([*(_GLYPHS[each] for each in held), last])
    return "+".join([*(each.capitalize() for each in held), last])


def _parted(key: str) -> tuple[list[str], str]:
    """The modifiers of a key, and what is pressed with them, which may be “+”."""
    held, _, last = key[:-1].rpartition("+")
    return held.split("+") if held else [], last + key[-1:]


KEYS = Keys()
"""Those of this instance of the package."""
