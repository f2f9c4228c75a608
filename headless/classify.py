"""Words and other classes of points in a text."""

from __future__ import annotations

from headless.api.flags import PointClassification as P

DEFAULT_SEPARATORS = "./\\()\"'-:,.;<>~!@#$%^&*|+=[]{}`~?"


def _kind(text: str, at: int, separators: str) -> str:
    if not 0 <= at < len(text) or text[at].isspace():
        return "space"
    return "punctuation" if text[at] in separators else "word"


def classify(text: str, point: int, separators: str, sub_separators: str = "_") -> P:
    """The classes of the point between two characters."""
    before, after = _kind(text, point - 1, separators), _kind(text, point, separators)
    flags = P.NONE
    if before != "word" and after == "word":
        flags |= P.WORD_START
    if before == "word" and after != "word":
        flags |= P.WORD_END
    if before != "punctuation" and after == "punctuation":
        flags |= P.PUNCTUATION_START
    if before == "punctuation" and after != "punctuation":
        flags |= P.PUNCTUATION_END
    flags |= _sub_words(text, point, before == "word", after == "word", sub_separators)
    at_start = point == 0 or text[point - 1] == "\n"
    at_end = point >= len(text) or text[point] == "\n"
    if at_start:
        flags |= P.LINE_START
    if at_end:
        flags |= P.LINE_END
    if at_start and at_end:
        flags |= P.EMPTY_LINE
    return flags


def _sub_words(text: str, point: int, before: bool, after: bool, separators: str) -> P:
    left = text[point - 1] if before else " "
    right = text[point] if after else " "
    hump = left.islower() and right.isupper()
    flags = P.NONE
    if after and right not in separators and (not before or left in separators or hump):
        flags |= P.SUB_WORD_START
    if before and left not in separators and (not after or right in separators or hump):
        flags |= P.SUB_WORD_END
    return flags


def find(text: str, point: int, forward: bool, classes: P, separators: str, sub_separators: str) -> int:
    """The next point of one of `classes`, or the text's end."""
    step = 1 if forward else -1
    at = point + step
    while 0 < at < len(text):
        if classify(text, at, separators, sub_separators) & classes:
            return at
        at += step
    return max(0, min(at, len(text)))


def word(text: str, begin: int, end: int, separators: str) -> tuple[int, int]:
    """The span, expanded to whole words, or to runs of one kind of character."""
    kind = _kind(text, begin, separators)
    left = _kind(text, begin - 1, separators)
    if begin == end and left == "word" and kind != "word":
        kind = "word"
    while begin > 0 and text[begin - 1] != "\n" and _kind(text, begin - 1, separators) == kind:
        begin -= 1
    kind = _kind(text, end - 1, separators) if end > begin else kind
    while end < len(text) and text[end] != "\n" and _kind(text, end, separators) == kind:
        end += 1
    return begin, end
