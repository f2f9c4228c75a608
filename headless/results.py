"""The results in the output of a build or a search, as the settings of its view say where they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

Result = tuple[str, int, int, str]
"""The path; the line and the column, 0 if unknown; the message."""


def results(text: str, file_regex: str, line_regex: str, base: str) -> Iterator[Result]:
    """The results that a text names.

    The groups of `file_regex`, the setting `result_file_regex`, are the file, the line, the column and the message.
    Those of `line_regex` are the same without the file, which is the last one above. `base` is `result_base_dir`, the
    folder of relative paths.
    """
    in_file, in_line = (re.compile(regex) if regex else None for regex in (file_regex, line_regex))
    current = ""
    for line in text.split("\n"):
        if in_file and (found := in_file.search(line)):
            path, *rest = [group or "" for group in found.groups()] or [""]
            current = os.path.normpath(os.path.join(base, path)) if base else path
            if in_line and not rest:
                continue
            yield current, *_numbers(rest[:2]), rest[2] if len(rest) > 2 else ""
        elif in_line and current and (found := in_line.search(line)):
            rest = [group or "" for group in found.groups()]
            yield current, *_numbers(rest[:2]), rest[2] if len(rest) > 2 else ""


def _numbers(texts: list[str]) -> tuple[int, int]:
    line, column = ([int(text) if text.isdigit() else 0 for text in texts] + [0, 0])[:2]
    return line, column
