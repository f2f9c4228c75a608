"""The weekly workflow's own steps, as GitHub runs them, with a `scripts/latest` and a `gh` that only take notes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None or os.name == "nt", reason="the steps are for bash on Linux")
RUN = "https://github.com/a/b/actions/runs/1"


def steps(root: Path) -> tuple[str, str]:
    """The script that tries the releases, and the one that opens the issue."""
    text = (root / ".github" / "workflows" / "latest.yml").read_text("utf-8")
    found = [textwrap.dedent(each) for each in re.findall(r"run: \|\n((?: {10}.*\n|\n)+)", text)]
    assert len(found) == 2
    return found[0], found[1]


def run(script: str, folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """As a step with `shell: bash`."""
    command = [str(BASH), "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    subprocess.run(command, cwd=folder, env={**os.environ, **(environment or {})}, check=True)


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{script}\n", "utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("latest", "told"),
    [
        ("mkdir -p .cache/latest; : >.cache/latest/report.md", ""),
        ("mkdir -p .cache/latest; echo new >.cache/latest/report.md", f"new\n\n{RUN}\n"),
        ("exit 1", f"`scripts/latest` has not run to its end.\n\n{RUN}\n"),
        (
            "mkdir -p .cache/latest; echo new >.cache/latest/report.md; exit 1",
            f"new\n`scripts/latest` has not run to its end.\n\n{RUN}\n",
        ),
    ],
    ids=["nothing", "news", "failed", "failed-with-news"],
)
def test_there_is_an_issue_only_if_there_is_something_to_tell(root: Path, tmp_path: Path, latest: str, told: str):
    program(tmp_path / "scripts" / "latest", latest)
    output = tmp_path / "output"
    output.touch()
    run(steps(root)[0], tmp_path, {"RUN": RUN, "GITHUB_OUTPUT": str(output)})
    assert output.read_text("utf-8") == ("has_news=true\n" if told else "")
    report = tmp_path / ".cache" / "latest" / "report.md"
    assert (report.read_text("utf-8") if report.exists() else "") == told


@pytest.mark.parametrize(
    ("opened", "expected"),
    [
        ("", "issue create --title Newest releases of CLIs and agents --body-file body.md"),
        ("7", "issue comment 7 --body-file body.md"),
    ],
    ids=["first", "again"],
)
def test_an_open_issue_gets_a_comment_instead_of_another_issue(root: Path, tmp_path: Path, opened: str, expected: str):
    asked = tmp_path / "asked"
    program(tmp_path / "bin" / "gh", f'echo "$*" >>"{asked}"; if [[ $2 == list ]]; then echo "{opened}"; fi')
    (tmp_path / "report.md").write_text("x" * 70_000, "utf-8")
    run(steps(root)[1], tmp_path, {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"})
    listed, then = asked.read_text("utf-8").splitlines()
    assert listed.startswith("issue list --state open ")
    assert then == expected
    assert len((tmp_path / "body.md").read_bytes()) == 60_000  # an issue takes 65,536 characters
