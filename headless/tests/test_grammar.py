"""Texts read by a package's own `.sublime-syntax`, and their colours in pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headless import render
from headless.app import Application
from headless.grammar import Grammar

SYNTAX = """%YAML 1.2
---
name: Notes
scope: text.notes
contexts:
  prototype:
    - match: '!!'
      scope: keyword.loud
  main:
    - match: '^(#) (.*)$'
      scope: markup.heading
      captures:
        1: punctuation.definition.heading
    - match: '"'
      scope: punctuation.begin
      push:
        - meta_scope: string.quoted
        - meta_content_scope: meta.inside
        - match: '"'
          scope: punctuation.end
          pop: true
    - match: '^<(\\w+)>$\\n?'
      embed: scope:source.python
      embed_scope: source.python.embedded
      escape: '^</\\1>'
      escape_captures:
        0: punctuation.end.embedded
"""


def parts(text: str) -> list[tuple[str, str, str]]:
    return [(text[span.start : span.end], span.scopes, span.embedded) for span in Grammar.load(SYNTAX).spans(text)]


def test_the_groups_of_a_match_have_scopes_of_their_own():
    heading = "text.notes markup.heading"
    assert parts("# Title") == [("#", f"{heading} punctuation.definition.heading", ""), (" Title", heading, "")]


def test_the_scope_of_a_context_includes_its_ends_and_that_of_its_content_does_not():
    assert parts('a "b!!" c') == [
        ("a ", "text.notes", ""),
        ('"', "text.notes string.quoted punctuation.begin", ""),
        ("b", "text.notes string.quoted meta.inside", ""),
        ("!!", "text.notes string.quoted meta.inside keyword.loud", ""),
        ('"', "text.notes string.quoted punctuation.end", ""),
        (" c", "text.notes", ""),
    ]


def test_an_embedded_syntax_takes_all_lines_up_to_its_escape():
    assert parts('<py>\nx = "\n# y\n</py>\n"')[1:3] == [
        ('x = "\n# y\n', "text.notes source.python.embedded", "scope:source.python"),
        ("</py>", "text.notes punctuation.end.embedded", ""),
    ]


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("scope: a\ncontexts:\n  main: []\n  main: []\n", "twice"),
        ("scope: a\ncontexts: {}\n", "main"),
        ("contexts:\n  main:\n    - match: a\n      branch: [b]\n", "branch"),
        ("contexts:\n  main:\n    - match: a\n      push: b\n", "b"),
        ("contexts:\n  main:\n    - include: scope:text.b\n", "not there"),
        ("contexts: [", "."),
    ],
)
def test_a_definition_that_is_wrong_or_not_understood_is_refused(definition: str, message: str):
    with pytest.raises(ValueError, match=message):
        Grammar.load(f"%YAML 1.2\n---\n{definition}")


@pytest.fixture
def notes(app: Application, view: Any, tmp_path: Path) -> Any:
    """A view with the syntax of a package."""
    package = tmp_path / "Notes"
    package.mkdir()
    (package / "Notes.sublime-syntax").write_text(SYNTAX, encoding="utf-8")
    app.loader.add(str(package))
    view.assign_syntax("Packages/Notes/Notes.sublime-syntax")
    return view


def test_a_package_brings_its_syntaxes(app: Application, notes: Any):
    import sublime

    assert notes.syntax().name == "Notes"
    assert notes.scope_name(0) == "text.notes "
    assert [syntax.path for syntax in sublime.find_syntax_by_scope("text.notes")] == [notes.syntax().path]
    app.loader.remove("Notes")
    assert notes.syntax() is None
    assert not sublime.find_syntax_by_name("Notes")


def test_a_picture_has_the_colours_of_a_packages_syntax_and_of_what_is_embedded(app: Application, notes: Any):
    notes.run_command("append", {"characters": '# Title\n"said"\n<py>\nreturn None\n</py>\n'})
    page = render.window_page(app, app.windows[0], "dark")
    redish, greenish, purplish = "#ec5f66", "#99c794", "#c695c6"
    assert f'<span style="color: {redish}; font-weight: bold">#</span>' in page
    assert '<span style="font-weight: bold"> Title</span>' in page
    assert f'<span style="color: {greenish}">said</span>' in page
    assert f'<span style="color: {purplish}">return</span>' in page
