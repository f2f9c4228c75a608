"""What a turn is done again on has a limit, whatever its calls say."""

from __future__ import annotations

import pytest

from companion.changes.lines import differences
from companion.provenance import lines as of_lines
from companion.provenance.calls import TextReplacement
from companion.provenance.lines import ReplayStep, is_seen, runs_of

COUNT = 400
BEFORE = "".join(f"line {at}\n" for at in range(COUNT))
AFTER = BEFORE.replace("line", "LINE")


def steps(count: int = COUNT) -> list[ReplayStep]:
    return [ReplayStep(at, TextReplacement("/p/a", f"line {at}\n", f"LINE {at}\n")) for at in range(count)]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines each comparison has had."""
    lines: list[int] = []

    def counted(old: list[str], new: list[str]) -> object:
        lines.append(len(old) + len(new))
        return differences(old, new)

    monkeypatch.setattr(of_lines, "differences", counted)
    return lines


@pytest.mark.parametrize("before", [BEFORE, None], ids=["known", "unknown"])
def test_beyond_a_limit_of_effort_no_call_is_named(
    before: str | None, compared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(runs_of(before, AFTER, steps())) == COUNT
    all_lines = sum(compared)
    compared.clear()
    monkeypatch.setattr(of_lines, "EFFORT", COUNT * len(BEFORE) // 10)
    assert runs_of(before, AFTER, steps()) == {}
    assert sum(compared) < all_lines / 8


def test_the_effort_is_that_of_each_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_lines, "EFFORT", 10 * len(BEFORE) + 1_000)
    for _ in range(20):
        after = BEFORE.replace("line 0\n", "LINE 0\n")
        assert list(runs_of(BEFORE, after, steps(1))) == [0]


def test_a_text_that_calls_let_grow_without_end_is_never_made(compared: list[int]) -> None:
    twice = TextReplacement("/p/a", "a", "aa", is_everywhere=True)
    assert runs_of("a", "aa", [ReplayStep(at, twice) for at in range(60)]) == {}
    assert len(compared) < 30


def test_many_short_lines_count_as_what_they_cost(compared: list[int]) -> None:
    texts = ["a\n\n" * 20_000, "\na\n" * 20_000]
    wholes = [ReplayStep(at, TextReplacement("/p/a", None, texts[at % 2])) for at in range(2_000)]
    assert runs_of("", texts[1], wholes) == {}
    assert len(compared) < 30


@pytest.mark.parametrize(
    "replaced",
    [
        TextReplacement("/p/a", "line 1\r\nline 2\r\n", "line 1\r\nLINE 2\r\n"),
        TextReplacement("/p/a", BEFORE.replace("\n", "\r\n"), AFTER.replace("\n", "\r\n"), is_whole=True),
    ],
    ids=["a piece", "all of it"],
)
def test_a_turn_is_tied_to_a_file_whose_line_endings_it_tells(replaced: TextReplacement) -> None:
    """Codex tells those of Windows; the texts of the file have line feeds."""
    assert is_seen(
        BEFORE, AFTER if replaced.is_whole else BEFORE.replace("line 2\n", "LINE 2\n"), [ReplayStep(0, replaced)]
    )
    assert not is_seen(BEFORE, BEFORE, [ReplayStep(0, replaced)])


def test_a_turn_is_tied_to_a_file_with_a_limit_of_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    class Text(str):
        __slots__ = ()

        def __contains__(self, piece: object) -> bool:
            looked.append(self)
            return super().__contains__(piece)  # type: ignore[arg-type]

    lies = [ReplayStep(at, TextReplacement("/p/a", f"nothing {at}", "of it")) for at in range(COUNT)]
    before, after = Text(BEFORE), Text(AFTER)
    assert is_seen(before, after, [*lies, *steps(1)])
    assert len(looked) > COUNT
    looked.clear()
    monkeypatch.setattr(of_lines, "EFFORT", 10 * (len(before) + len(after)))
    assert not is_seen(before, after, [*lies, *steps(1)])
    assert len(looked) <= 10
