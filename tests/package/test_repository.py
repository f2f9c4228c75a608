from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

# Spelled so that this file does not hold what it looks for.
REGISTRIES = r"(pypi|pythonhosted|npmjs|debian)[.]org"
MACHINE_PATHS = r"(^|[^A-Za-z0-9_.])/(w[o]rk|r[o]ot|f[a]rm)/[a-z.]"


@pytest.fixture(scope="module")
def files(root: Path) -> list[Path]:
    """What is committed, or would be."""
    listed = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    return [path for name in names if name and (path := root / name).is_file()]


def test_no_registry_and_no_path_of_a_machine_is_named(root: Path, files: list[Path]) -> None:
    found = []
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if re.search(f"{REGISTRIES}|{MACHINE_PATHS}", line):
                found.append(f"{path.relative_to(root)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_what_is_kept_out_of_the_package_is_there(root: Path) -> None:
    lines = (root / ".gitattributes").read_text(encoding="utf-8").splitlines()
    paths = [line.split()[0] for line in lines if line.endswith(" export-ignore")]
    assert paths
    assert [path for path in paths if not (root / path.removeprefix("/")).exists()] == []
