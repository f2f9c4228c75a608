# ruff: noqa: RUF001 - the punctuation of Chinese is meant
from __future__ import annotations

import pytest

from companion.chats.prompt import MAX_ENDS, MAX_MENTIONS, MAX_PATH, mention, mentions, open_mention


def named(text: str, *files: str) -> list[str]:
    """What of a text the mentions of some files take."""
    found = [next((text[each.start : end] for end, path in each.paths if path in files), "") for each in mentions(text)]
    return [each for each in found if each]


@pytest.mark.parametrize(
    "text",
    [
        "看@文件.py吧", "看 @文件.py。", "看 @文件.py，然后", "(@文件.py)", "（@文件.py）", '"@文件.py"', "“@文件.py”",
        "see @文件.py...", "@文件.py:10", "@文件.py", "看@文件.py，改，测，看，说，走，跑，跳，飞，完。",
        "@文件.pyを見て",
    ],
)  # fmt: skip
def test_a_mention_needs_no_blanks_around_it(text: str):
    assert named(text, "文件.py") == ["@文件.py"]


def test_the_longest_file_is_meant():
    assert named("@a(1).py), @a", "a", "a(1).py") == ["@a(1).py", "@a"]
    assert named("@a，b.py", "a", "a，b.py") == ["@a，b.py"]
    assert named("@a.py，@b.py", "a.py", "b.py") == ["@a.py", "@b.py"]


@pytest.mark.parametrize("text", ["me@a.py", "node_modules/@a.py", "x.@a.py", r"\@a.py", "@ a.py", "@@"])
def test_what_is_no_mention(text: str):
    assert named(text, "a.py") == []
    assert open_mention("me@a.py") is None


def test_what_is_written_is_read_again():
    path = "a b\\c, (d).py"
    assert named(f"{mention(path)}.", path) == [mention(path)]
    assert open_mention(f"see {mention(path)}") == (4, path)


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("see @", (4, "")), ("看@文", (1, "文")), ("@a.py，@b", (6, "b")),
        ("@node_modules/@ty", (0, "node_modules/@ty")),
        ("(@a", (1, "a")), ("@a b", None), ("", None),
    ],
)  # fmt: skip
def test_a_mention_that_is_being_written(before: str, found: tuple[int, str] | None):
    assert open_mention(before) == found


def test_no_text_makes_many_or_long_paths():
    found = mentions("@a，" * 100_000)
    assert len(found) == MAX_MENTIONS
    assert max(len(each.paths) for each in found) <= MAX_ENDS + 2
    assert max(len(path) for each in found for _, path in each.paths) <= MAX_PATH
