"""Text that may leave the editor for a terminal or for the clipboard: nothing in it presses a key or hides.

The same goes for the addresses that a person is asked about: `host_of` says where a browser would go.

In a terminal a control character is a key: ESC `[201~` ends a paste, CR is Enter, and U+009B is ESC `[` in one
character. What no one sees, such as a character that turns the direction of what follows, makes a text read otherwise
than it is. So names, comments, messages and what an agent has written pass through `ShownText`, which shows each of
these characters by its number. `panels.to_clipboard` and `terminal.terminals.send` take nothing else, and
tests/package/test_outlets.py finds whoever goes around them.

Standard library only: the UI thread imports it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

_ACTS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters of ASCII and of ISO 8859, but for the tab and the line feed
    "\u2028\u2029"  # separators of lines and paragraphs
    "\ud800-\udfff"  # halves of characters: bytes of a file's name that are no UTF-8
)
_HIDES = (
    # What Unicode has as invisible, and the marks that turn the direction. The two selectors U+FE0E and U+FE0F are
    # left where they choose how an emoji is drawn: anywhere else a row of them is a text that only a model reads.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d"
    "\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_LETTER = f"[^\x00-\x7f{_ACTS}{_HIDES}\u200b-\u200f\ufe0e\ufe0f]"
_EMOJI = "[#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]"
_JOINS = f"(?<!{_LETTER})(?<!{_EMOJI}[\ufe0e\ufe0f])[\u200c\u200d]+|[\u200c\u200d](?!{_LETTER})"
"""A joiner that joins nothing. Between two letters of Persian or of an Indian script, or two emoji, it is spelling."""
_SELECTS = f"(?<!{_EMOJI})[\ufe0e\ufe0f]+"
_IN_TEXT = re.compile(f"[{_ACTS}{_HIDES}]+|{_JOINS}|{_SELECTS}")
_IN_NAME = re.compile(f"[\t\n{_ACTS}{_HIDES}]+|{_JOINS}|{_SELECTS}")
"""A row of such characters at once: a text may consist of millions."""
_NEWLINE = re.compile("\r\n?")
_COMMAND = re.compile(r"[^\w\"'`@(\[{<*“„«‹-]")
"""What a prompt does not begin with: a CLI runs what follows a “/” or a “?”, and gives a shell what follows a “!”."""

SHOWN = 2000
"""Characters of a command, or of its variables, in a question."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text of one or more lines in which no character acts or hides. Whatever it is made of, it is such a text."""

    text: str
    """With LF between its lines; a tab stays a tab."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", visible(self.text))

    @property
    def as_prompt(self) -> str:
        """The text for the prompt of a CLI: a message, whatever it begins with, and never a command of the CLI's.

        Commands are what begins with certain marks, after blanks or not (`isSlashCommand` and `handleSlashCommand` in
        Qwen Code 0.24.4 and Gemini CLI 0.61; a “!” alone opens the shell mode).
        """
        text = self.text.lstrip()
        return f"- {text}" if _COMMAND.match(text) else text


def shown_line(text: str) -> ShownText:
    """A text that has to be one line, such as a command or a code from somebody else: shows the ends of lines, too."""
    return ShownText(visible_name(text))


def visible(text: str) -> str:
    """A text with each character that acts or hides as its number. Each CR LF and CR becomes an LF."""
    return _IN_TEXT.sub(_number, _NEWLINE.sub("\n", text))


def visible_name(name: str) -> str:
    """A name with the same characters as their numbers, and also each tab, CR and LF: a name is one line."""
    return _IN_NAME.sub(_number, name)


def blanked(text: str) -> str:
    """A text in one line, with a single blank for what acts or hides, for a message of somebody else's program."""
    return " ".join(_IN_NAME.sub(" ", text).split())


def is_plain(name: str) -> bool:
    """Whether nothing in a name acts or hides, so that it can be typed as it is."""
    return not _IN_NAME.search(name)


class _Numbers(dict[int, str]):
    """The number of each character as it is shown, made when it is needed first."""

    def __missing__(self, code: int) -> str:
        number = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        self[code] = number
        return number


_NUMBERS = _Numbers()


def _number(found: re.Match[str]) -> str:
    return found[0].translate(_NUMBERS)


def at_most(text: str, most: int = SHOWN) -> str:
    """What a question shows of a text, with how much it doesn't show."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters are not shown)"


# Addresses of the web, as a person is asked about them.

_HOST = re.compile(r"[a-z0-9_.-]+|[0-9a-f:.]+")
_AMBIGUOUS = frozenset("\u00df\u1e9e\u03c2\u200c\u200d")
"""Letters of names that IDNA 2003, which Python has, takes for others, and IDNA 2008, which browsers have, does not."""


def host_of(address: str) -> str:
    """The host of a page as a browser looks it up, other alphabets in Punycode.

    It is empty for what is no page, and for an address that a browser may read in another way than this or any person
    does: with a backslash, which a browser takes for a slash, with a user's name, with what can't be seen.
    """
    if not address.isprintable() or " " in address or "\\" in address:
        return ""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
        if parts.scheme not in {"http", "https"} or "@" in parts.netloc or not _AMBIGUOUS.isdisjoint(host):
            return ""
        host = host if host.isascii() else host.encode("idna").decode().lower()
    except ValueError:
        return ""
    return host if _HOST.fullmatch(host) else ""


def is_safe(address: str) -> bool:
    """Whether what goes to an address can be read by nobody on the way: https, or this computer."""
    host = host_of(address)
    return bool(host) and (address[:6].lower() == "https:" or host in {"127.0.0.1", "::1", "localhost"})
