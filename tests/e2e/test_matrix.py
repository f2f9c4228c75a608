"""The versions of the CLIs that people use, as published.

The oldest and the newest version of each family always run. `scripts/test --all` runs the others too, and then
rewrites docs/compatibility.md.
"""

from __future__ import annotations

import contextlib
import platform
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from .cli import CONNECTED, Cli
from .clis import NEWEST_QWEN, NOT_IN_A_CONTAINER, pinned
from .editor import Editor
from .gemini import Gemini
from .model import Model, Script
from .qwen import PROJECT, Home, Qwen, node, version
from .session import GREET, GREET_BETTER
from .terminal import WaitedError

LOOKS = 3
EDITED = GREET_BETTER.replace("hi {name}", "good morning, {name}")
FAMILIES: dict[str, tuple[str, type[Qwen | Gemini]]] = {"qwen": ("Qwen Code", Qwen), "gemini": ("Gemini CLI", Gemini)}
TABLE = PROJECT / "docs" / "compatibility.md"
#: The steps that are tried, in the order of the table's columns.
STEPS = ("finds the editor", "connects", "sends the context to the model", "opens a diff", "writes the accepted text")
OUTSIDE, VARIABLES = "outside terminal", "outside terminal with variables"


@dataclass(frozen=True)
class Row:
    """A version, and the terminals in which it should find the editor.

    Facts: docs/protocols/qwen-ide.md#discovery, docs/protocols/gemini-ide.md#versions.
    """

    family: str
    version: str
    outside: bool
    variables: bool

    def __str__(self) -> str:
        return f"{self.family}-{self.version}"


ROWS = (
    Row("qwen", "0.1.3", outside=False, variables=False),
    Row("qwen", "0.5.0", outside=False, variables=False),
    Row("qwen", "0.5.2", outside=False, variables=True),
    Row("qwen", "0.8.2", outside=False, variables=True),
    Row("qwen", "0.12.0", outside=True, variables=True),
    Row("qwen", "0.15.10", outside=True, variables=True),
    Row("qwen", "0.21.2", outside=True, variables=True),
    Row("qwen", NEWEST_QWEN, outside=True, variables=True),
    Row("gemini", "0.8.2", outside=False, variables=False),
    Row("gemini", "0.25.0", outside=False, variables=False),
    Row("gemini", "0.31.0", outside=True, variables=True),
    Row("gemini", "0.61.0", outside=True, variables=True),
)
ALWAYS = {"qwen-0.1.3", f"qwen-{NEWEST_QWEN}", "gemini-0.8.2", "gemini-0.61.0"}
EACH = [pytest.param(row, id=str(row), marks=() if str(row) in ALWAYS else pytest.mark.long) for row in ROWS]
EACH_LONG = [pytest.param(row, id=str(row), marks=pytest.mark.long) for row in ROWS]


@dataclass
class Results:
    """The results of each row, by step: True for success, False for failure, no key if the step was not tried."""

    seen: dict[Row, dict[str, bool]] = field(default_factory=dict[Row, dict[str, bool]])

    @contextlib.contextmanager
    def step(self, row: Row, name: str) -> Iterator[None]:
        done = self.seen.setdefault(row, {})
        done[name] = False
        yield
        done[name] = True

    @property
    def are_complete(self) -> bool:
        return all(OUTSIDE in self.seen.get(row, {}) and STEPS[0] in self.seen[row] for row in ROWS)

    def text(self) -> str:
        """The text of docs/compatibility.md."""
        columns = (*STEPS, OUTSIDE, VARIABLES)
        used = ".".join(map(str, version([str(node()), "--version"])))
        lines = [
            "# Compatibility",
            "",
            f"Written by a run of `scripts/test --all tests/e2e/test_matrix.py` on {platform.system()} with Node",
            f"{used}. The published CLIs run in a terminal and use the package in the headless editor.",
            "The first five columns are for a terminal inside the editor, without any of the package's variables.",
            "",
            f"| CLI | {' | '.join(columns)} |",
            f"|---|{'---|' * len(columns)}",
        ]
        words = {True: "yes", False: "no", None: "not tried"}
        for row in ROWS:
            seen = self.seen.get(row, {})
            cells = " | ".join(words[seen.get(column)] for column in columns)
            lines.append(f"| {FAMILIES[row.family][0]} {row.version} | {cells} |")
        # tests/e2e/test_doors.py and test_acp.py write the other sections.
        _, heading, agents = TABLE.read_text(encoding="utf-8").partition("## ")
        return "\n".join([*lines, "", *NOTES, ""]) + (f"\n{heading}{agents}" if heading else "")


NOTES = (
    "An outside terminal is one that the editor did not open. If a CLI does not find the editor from there, it needs",
    "the variables of *Qwen: Copy Terminal Environment*. If it does not find the editor with them either, it",
    "has to run in a terminal inside the editor. Versions between two rows behave like one of the two.",
    "Each run of the tests tries the first five columns of the oldest and the newest version of each CLI. The others,",
    "and the terminals outside, are tried before a release: `scripts/test --all tests/e2e`.",
    "",
    "Gemini CLI 0.8.2 and 0.25.0 trim the text that they write into an existing file, so the last newline is lost.",
    "The package cannot prevent that. Versions 0.31.0 and 0.61.0 write the accepted text byte for byte.",
)


@pytest.fixture(scope="module")
def results() -> Iterator[Results]:
    results = Results()
    yield results
    if results.are_complete:
        TABLE.write_text(results.text(), encoding="utf-8")


@pytest.fixture
def home() -> Iterator[Home]:
    home = Home.make()
    home.write("greet.py", GREET)
    yield home
    home.remove()


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    yield model
    model.close()


@pytest.fixture
def window(home: Home) -> Iterator[Editor]:
    """An editor on the home's project folder."""
    editor = Editor(home, [home.workspace])
    editor.lock()
    yield editor
    editor.kill()


@contextlib.contextmanager
def running(row: Row, home: Home, model: Model, *, inside: bool, **variables: str) -> Iterator[Cli]:
    """Start the CLI of a row, and wait until it accepts a prompt."""
    more = {"NODE_OPTIONS": NOT_IN_A_CONTAINER, **variables}
    cli = FAMILIES[row.family][1](home, model, command=pinned(row.family, row.version), inside=inside, more=more)
    try:
        cli.wait_ready()
        yield cli
    finally:
        cli.close()


@pytest.mark.parametrize("row", EACH)
def test_a_version_works(row: Row, results: Results, home: Home, model: Model, window: Editor) -> None:
    """From a terminal inside the editor."""
    view = window.open_file(home.write("open.py", "before = 1\nmarker_of_the_selection = 2\n"))
    window.do("select", view=view, regions=[[11, 34]])
    with running(row, home, model, inside=True) as cli:
        with results.step(row, STEPS[0]):
            assert "not supported" not in cli.command("/ide status")
        with results.step(row, STEPS[1]):
            cli.wait_connected()
        cli.wait_told("open.py")
        path = home.workspace / "new.py"
        script = cli.ask_to_write(path, GREET_BETTER)
        with results.step(row, STEPS[2]):
            told = said(model, script)
            assert "open.py" in told
            assert "marker_of_the_selection" in told
        with results.step(row, STEPS[3]):
            proposal = window.wait_diff(path)
            assert proposal["text"] == GREET_BETTER
            assert FAMILIES[row.family][0] in str(proposal)
        with results.step(row, STEPS[4]):
            window.set_text(proposal, EDITED)
            window.accept(proposal)
            cli.wait_done(script)
            assert path.read_text(encoding="utf-8") == EDITED
            window.wait_no_diff()


@pytest.mark.parametrize("row", EACH_LONG)
def test_a_version_finds_the_editor_from_an_outside_terminal_if_it_can(
    row: Row, results: Results, home: Home, model: Model, window: Editor
) -> None:
    """With the discovery files alone, and with the variables."""
    given = copied(window)
    assert given
    for column, variables in ((OUTSIDE, {}), (VARIABLES, given)):
        with running(row, home, model, inside=False, **variables) as cli:
            expected = row.variables if variables else row.outside
            results.seen.setdefault(row, {})[column] = connects(cli, is_expected=expected)
    seen = results.seen[row]
    assert (seen[OUTSIDE], seen[VARIABLES]) == (row.outside, row.variables)


def copied(editor: Editor) -> dict[str, str]:
    """The variables that a person copies for an outside terminal."""
    editor.do("command", name="qwen_companion_copy_environment", args={"shell": "sh"})
    text: str = editor.wait("copied environment", lambda: editor.state()["clipboard"])
    words = shlex.split(text.replace(";", " "))
    return dict(word.split("=", 1) for word in words if "=" in word)


def connects(cli: Cli, *, is_expected: bool) -> bool:
    """Whether the CLI connects: one that should is waited for, one that shouldn't is asked several times."""
    if is_expected:
        with contextlib.suppress(WaitedError):
            cli.wait_connected()
            return True
    return any(CONNECTED in cli.command("/ide status") for _ in range(LOOKS))


def said(model: Model, script: Script) -> str:
    """The text of the first request of a turn."""
    return "\n".join(str(message.get("content")) for message in model.requests_of(script)[0].messages)


def test_the_table_names_every_row() -> None:
    """docs/compatibility.md has a line for each of these rows."""
    text = TABLE.read_text(encoding="utf-8").partition("## ")[0]
    assert [line.split(" | ")[0] for line in text.splitlines() if line.startswith(("| Qwen", "| Gemini"))] == [
        f"| {FAMILIES[row.family][0]} {row.version}" for row in ROWS
    ]
