"""The package as it is installed: a zip that Sublime Text loads without unpacking it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .editor import Editor
from .mcp_client import connect
from .qwen import PROJECT, Home
from .session import GREET, GREET_BETTER


def test_the_built_package_serves_a_diff_from_its_zip(tmp_path: Path) -> None:
    """The zip has everything that the package needs, and the package needs no unpacked file."""
    package = tmp_path / "QwenCompanion.sublime-package"
    subprocess.run(["bash", str(PROJECT / "scripts" / "package"), "--worktree", str(package)], check=True, timeout=120)
    with Home.make() as home, Editor(home, [home.workspace], package=package) as editor:
        path = home.write("greet.py", GREET)
        with connect(editor.lock()) as client:
            client.wait_for("ide/contextUpdate")
            client.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
            editor.click_answer(editor.wait_diff(path), "accept")
            assert client.wait_for("ide/diffAccepted") == {"filePath": str(path), "content": GREET_BETTER}
        editor.quit()
        assert editor.lock_files() == []
