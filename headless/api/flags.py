"""The enumerations of the plugin API, and their old names without a class."""

from __future__ import annotations

import enum
from typing import Literal

from headless.api.types import Kind


class HoverZone(enum.IntEnum):
    """What the mouse rests on, for `on_hover`."""

    TEXT = 1
    GUTTER = 2
    MARGIN = 3


class NewFileFlags(enum.IntFlag):
    """How and where a file or a new tab opens."""

    NONE = 0
    ENCODED_POSITION = 1
    TRANSIENT = 4
    FORCE_GROUP = 8
    SEMI_TRANSIENT = 16
    ADD_TO_SELECTION = 32
    REPLACE_MRU = 64
    CLEAR_TO_RIGHT = 128
    FORCE_CLONE = 256


class FindFlags(enum.IntFlag):
    """How a pattern is looked for."""

    NONE = 0
    LITERAL = 1
    IGNORECASE = 2
    WHOLEWORD = 4
    REVERSE = 8
    WRAP = 16


class QuickPanelFlags(enum.IntFlag):
    """How a quick panel shows its items and when it closes."""

    NONE = 0
    MONOSPACE_FONT = 1
    KEEP_OPEN_ON_FOCUS_LOST = 2
    WANT_EVENT = 4


class PopupFlags(enum.IntFlag):
    """How a popup is shown and what hides it."""

    NONE = 0
    COOPERATE_WITH_AUTO_COMPLETE = 2
    HIDE_ON_MOUSE_MOVE = 4
    HIDE_ON_MOUSE_MOVE_AWAY = 8
    KEEP_ON_SELECTION_MODIFIED = 16
    HIDE_ON_CHARACTER_EVENT = 32


class RegionFlags(enum.IntFlag):
    """How regions are drawn, and whether they are kept and undone."""

    NONE = 0
    DRAW_EMPTY = 1
    HIDE_ON_MINIMAP = 2
    DRAW_EMPTY_AS_OVERWRITE = 4
    PERSISTENT = 16
    DRAW_NO_FILL = 32
    HIDDEN = 128
    DRAW_NO_OUTLINE = 256
    DRAW_SOLID_UNDERLINE = 512
    DRAW_STIPPLED_UNDERLINE = 1024
    DRAW_SQUIGGLY_UNDERLINE = 2048
    NO_UNDO = 8192


class QueryOperator(enum.IntEnum):
    """How a key binding's context compares a value with its operand."""

    EQUAL = 0
    NOT_EQUAL = 1
    REGEX_MATCH = 2
    NOT_REGEX_MATCH = 3
    REGEX_CONTAINS = 4
    NOT_REGEX_CONTAINS = 5


class PointClassification(enum.IntFlag):
    """What a point of a text is, such as the start of a word."""

    NONE = 0
    WORD_START = 1
    WORD_END = 2
    PUNCTUATION_START = 4
    PUNCTUATION_END = 8
    SUB_WORD_START = 16
    SUB_WORD_END = 32
    LINE_START = 64
    LINE_END = 128
    EMPTY_LINE = 256


class AutoCompleteFlags(enum.IntFlag):
    """Which completions are shown beside those of a listener."""

    NONE = 0
    INHIBIT_WORD_COMPLETIONS = 8
    INHIBIT_EXPLICIT_COMPLETIONS = 16
    DYNAMIC_COMPLETIONS = 32
    INHIBIT_REORDER = 128


class CompletionItemFlags(enum.IntFlag):
    """What happens to a completion once it has been inserted."""

    NONE = 0
    KEEP_PREFIX = 1


class DialogResult(enum.IntEnum):
    """A person's answer to a dialog with yes, no and cancel."""

    CANCEL = 0
    YES = 1
    NO = 2


class UIElement(enum.IntEnum):
    """The part of the user interface that a view is, if it is no tab."""

    SIDE_BAR = 1
    MINIMAP = 2
    TABS = 4
    STATUS_BAR = 8
    MENU = 16
    OPEN_FILES = 32


class PhantomLayout(enum.IntEnum):
    """Where a phantom is drawn: in its line, below it, or below its text."""

    INLINE = 0
    BELOW = 1
    BLOCK = 2


class KindId(enum.IntEnum):
    """What a completion, a symbol or an item stands for; it chooses the colour of its letter."""

    AMBIGUOUS = 0
    KEYWORD = 1
    TYPE = 2
    FUNCTION = 3
    NAMESPACE = 4
    NAVIGATION = 5
    MARKUP = 6
    VARIABLE = 7
    SNIPPET = 8
    COLOR_REDISH = 9
    COLOR_ORANGISH = 10
    COLOR_YELLOWISH = 11
    COLOR_GREENISH = 12
    COLOR_CYANISH = 13
    COLOR_BLUISH = 14
    COLOR_PURPLISH = 15
    COLOR_PINKISH = 16
    COLOR_DARK = 17
    COLOR_LIGHT = 18


class SymbolSource(enum.IntEnum):
    """Where symbols are looked for."""

    ANY = 0
    INDEX = 1
    OPEN_FILES = 2


class SymbolType(enum.IntEnum):
    """Whether a symbol is a definition or a reference."""

    ANY = 0
    DEFINITION = 1
    REFERENCE = 2


class CompletionFormat(enum.IntEnum):
    """Whether a completion is a text, a snippet or a command."""

    TEXT = 0
    SNIPPET = 1
    COMMAND = 2


KIND_AMBIGUOUS: Kind = (KindId.AMBIGUOUS, "", "")
KIND_KEYWORD: Kind = (KindId.KEYWORD, "", "")
KIND_TYPE: Kind = (KindId.TYPE, "", "")
KIND_FUNCTION: Kind = (KindId.FUNCTION, "", "")
KIND_NAMESPACE: Kind = (KindId.NAMESPACE, "", "")
KIND_NAVIGATION: Kind = (KindId.NAVIGATION, "", "")
KIND_MARKUP: Kind = (KindId.MARKUP, "", "")
KIND_VARIABLE: Kind = (KindId.VARIABLE, "", "")
KIND_SNIPPET: Kind = (KindId.SNIPPET, "s", "Snippet")
HTML: Literal[1] = 1

_PREFIXES: dict[type[enum.IntEnum | enum.IntFlag], str] = {
    AutoCompleteFlags: "",
    CompletionFormat: "COMPLETION_FORMAT_",
    CompletionItemFlags: "COMPLETION_FLAG_",
    DialogResult: "DIALOG_",
    FindFlags: "",
    HoverZone: "HOVER_",
    KindId: "KIND_ID_",
    NewFileFlags: "",
    PhantomLayout: "LAYOUT_",
    PointClassification: "CLASS_",
    PopupFlags: "",
    QueryOperator: "OP_",
    QuickPanelFlags: "",
    RegionFlags: "",
    SymbolSource: "SYMBOL_SOURCE_",
    SymbolType: "SYMBOL_TYPE_",
}
"""The prefix of the old names of each enumeration's members. A zero has no old name, unless it means something."""

for _enumeration, _prefix in _PREFIXES.items():
    globals().update(
        (_prefix + _name, _member) for _name, _member in _enumeration.__members__.items() if _name != "NONE"
    )
DRAW_OUTLINED = RegionFlags.DRAW_NO_FILL
