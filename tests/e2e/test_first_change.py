"""The README tried as a new user would, from the installed package to the first accepted edited change."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .first_change import QUESTION, RUN, STATUS, FirstChange
from .qwen import PROJECT


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed: tests/package has Package Control install it by the README's two steps."""
    target = tmp_path_factory.mktemp("built") / "QwenCompanion.sublime-package"
    subprocess.run(
        [shutil.which("bash") or "bash", PROJECT / "scripts" / "package", "--worktree", target],
        check=True,
        timeout=120,
        capture_output=True,
    )
    return target


@pytest.mark.skipif(sys.platform == "win32", reason="a login shell with start-up files")
def test_a_new_user_gets_to_the_first_accepted_edited_change(programs: None, package: Path) -> None:
    steps: list[str] = []
    with FirstChange(lambda what, _, __: steps.append(what), package) as user:
        user.open_folder()
        user.run()
        user.connect()
        proposal = user.ask()
        assert proposal["text"] == user.proposed
        user.review(proposal)
        user.accept(proposal)
        assert user.file.read_text(encoding="utf-8") == user.wanted
        written = str(user.model.requests[-1].messages)
        assert "We do not sell" in written
    assert len(steps) > 10


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_the_pages_say_what_was_tried(page: str) -> None:
    """In the order of the steps."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    said = ["Open a folder", f"**{RUN}**", QUESTION, "*Yes*", f"`{STATUS}`", "`F8`", "`Ctrl+S`"]
    places = [text.index(words) for words in said]
    assert places == sorted(places)
