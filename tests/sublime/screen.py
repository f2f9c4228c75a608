"""What the editor is asked to show: its API takes phantoms, annotations, panels and messages and tells none of them."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from typing import Any
from unittest import TestCase
from unittest.mock import patch

import sublime

HEADER = "qwen_companion.header"
_TAG = re.compile(r"<style>.*?</style>|<[^>]+>", re.DOTALL)
_HREF = re.compile(r'href="([^"]*)"')


def words(minihtml: str) -> str:
    """The text of minihtml, its blanks as single spaces."""
    return " ".join(html.unescape(_TAG.sub("", minihtml)).split())


class Screen:
    """Listens to the API until the test is over."""

    def __init__(self, test: TestCase) -> None:
        self._began = time.time()
        self.messages: list[str] = []
        """The messages in the status bar so far."""
        self.panels: list[tuple[list[sublime.QuickPanelItem], Callable[[int], None]]] = []
        """The items of each quick panel, and what picking one calls."""
        self.selected: list[int] = []
        """The row that is selected at first in each of them, -1 for none."""
        self.inputs: list[tuple[str, str, Callable[[str], None]]] = []
        """The caption and the text of each input panel, and what entering one calls."""
        self.popups: list[tuple[str, Callable[[str], None] | None]] = []
        """The texts of the popups, and what a click in one calls."""
        self._phantoms: dict[tuple[int, int], tuple[str, str, Callable[[str], None] | None]] = {}
        self._annotations: dict[tuple[int, str], tuple[list[str], Callable[[str], None] | None]] = {}
        self.icons: dict[tuple[int, str], str] = {}
        """The icons in the gutter, by view and key of the regions."""
        self._drawn: dict[tuple[int, str], tuple[str, str, sublime.RegionFlags]] = {}
        self._listen(test, sublime.View, "add_phantom", self._phantom_added)
        self._listen(test, sublime.View, "erase_phantom_by_id", self._phantom_erased)
        self._listen(test, sublime.View, "add_regions", self._regions_added)
        self._listen(test, sublime.Window, "status_message", self._said)
        self._listen(test, sublime.Window, "show_quick_panel", self._panel_shown)
        self._listen(test, sublime.Window, "show_input_panel", self._input_shown)
        self._listen(test, sublime.View, "show_popup", self._popup_shown)

    def _said(self, _: object, window: sublime.Window, text: str) -> None:
        if window.is_valid():  # else it is for the window of an earlier test
            self.messages.append(text)

    def state(self) -> object:
        """What is drawn: as long as it differs, something is still being drawn."""
        return dict(self._phantoms), dict(self._drawn)

    def header(self, view: sublime.View) -> str:
        """The text of a diff's header over a view."""
        return " ".join(self.phantoms(view, HEADER))

    def phantoms(self, view: sublime.View, key: str) -> list[str]:
        """The texts of a view's phantoms of a key."""
        return [words(content) for content, _ in self._of(view, key)]

    def pick(self, caption: str) -> None:
        """Pick an item of the quick panel that was shown last."""
        items, on_select = self.panels[-1]
        on_select([item.trigger for item in items].index(caption))

    def annotations(self, view: sublime.View) -> list[str]:
        """The texts of the annotations at a proposal's changes, in their order."""
        return [words(text) for text in self._at_changes(view)]

    def links(self, view: sublime.View) -> list[str]:
        """The targets of the links at a proposal's changes: in its annotations, then in its fillers."""
        texts = [*self._at_changes(view), *(content for content, _ in self._of(view, "qwen_companion.fillers"))]
        return [href for text in texts for href in _HREF.findall(text)]

    def _at_changes(self, view: sublime.View) -> list[str]:
        return self._annotations.get((view.id(), "qwen_companion.changes"), ([], None))[0]

    def drawn(self, view: sublime.View, key: str) -> tuple[str, str, sublime.RegionFlags]:
        """The scope, the icon and the flags of a view's regions of a key."""
        return self._drawn[view.id(), key]

    def restores(self, view: sublime.View) -> list[str]:
        """The targets of the links at changes that were reverted."""
        texts = self._annotations.get((view.id(), "qwen_companion.reverted"), ([], None))[0]
        return [href for text in texts for href in _HREF.findall(text)]

    def navigate(self, view: sublime.View) -> Callable[[str], None]:
        """What a click on a link in a proposal's annotations calls."""
        found = self._annotations[view.id(), "qwen_companion.changes"][1]
        assert found
        return found

    def click(self, view: sublime.View, href: str) -> None:
        """Click a link in a phantom of a view, or in an annotation."""
        for (number, _), (texts, navigate) in self._annotations.items():
            if number == view.id() and navigate and any(href in _HREF.findall(text) for text in texts):
                navigate(href)
                return
        for (number, _), (_, content, navigate) in self._phantoms.items():
            if number == view.id() and navigate and href in map(html.unescape, _HREF.findall(content)):
                navigate(href)
                return
        raise AssertionError(f"nothing in the view links to {href!r}")

    def said(self, *parts: str) -> bool:
        """Whether a message holds all these parts: as it is in the status bar, or as the log has all of it."""
        from .companion_case import loaded  # noqa: PLC0415 - it imports this module

        log = loaded("sublime_text.panels").NOTICES._log
        told = [*self.messages, *(one.text for one in log if one.at >= self._began)]
        return any(all(part in message for part in parts) for message in told)

    def _of(self, view: sublime.View, key: str) -> list[tuple[str, Callable[[str], None] | None]]:
        return [
            (content, navigate)
            for (number, _), (own_key, content, navigate) in self._phantoms.items()
            if (number, own_key) == (view.id(), key)
        ]

    @staticmethod
    def _listen(test: TestCase, owner: type, name: str, told: Callable[..., object]) -> None:
        original = getattr(owner, name)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            told(result, self, *args, **kwargs)
            return result

        patcher = patch.object(owner, name, call)
        patcher.start()
        test.addCleanup(patcher.stop)

    def _phantom_added(
        self,
        number: int,
        view: sublime.View,
        key: str,
        _region: sublime.Region,
        content: str,
        _layout: sublime.PhantomLayout,
        on_navigate: Callable[[str], None] | None = None,
    ) -> None:
        self._phantoms[view.id(), number] = (key, content, on_navigate)

    def _phantom_erased(self, _: None, view: sublime.View, number: int) -> None:
        self._phantoms.pop((view.id(), number), None)

    def _regions_added(
        self,
        _: None,
        view: sublime.View,
        key: str,
        regions: list[sublime.Region],
        scope: str = "",
        icon: str = "",
        flags: sublime.RegionFlags = sublime.RegionFlags.NONE,
        annotations: list[str] | None = None,
        annotation_color: str = "",
        on_navigate: Callable[[str], None] | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._annotations[view.id(), key] = (annotations or [], on_navigate)
        self._drawn[view.id(), key] = (scope, icon, flags)
        self.icons[view.id(), key] = icon

    def _panel_shown(
        self,
        _: None,
        _window: sublime.Window,
        items: list[sublime.QuickPanelItem],
        on_select: Callable[[int], None],
        *_more: Any,
        selected_index: int = -1,
        **_named: Any,
    ) -> None:
        self.selected.append(selected_index)
        self.panels.append((items, on_select))

    def _input_shown(
        self,
        _: Any,
        _window: sublime.Window,
        caption: str,
        initial_text: str,
        on_done: Callable[[str], None],
        *_more: Any,
    ) -> None:
        self.inputs.append((caption, initial_text, on_done))

    def _popup_shown(self, _: None, _view: sublime.View, content: str, *_more: Any, **named: Any) -> None:
        self.popups.append((words(content), named.get("on_navigate")))
