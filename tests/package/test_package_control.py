"""The package through the real Package Control: installed, used, upgraded, refused, removed."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from companion import __version__
from companion.settings import REPOSITORY

from ..e2e.mcp_client import McpClient, connect
from ..e2e.own import kind_of, value
from ..unit.fake_daemon import FakeDaemon
from .building import built, copied
from .control import LIBRARIES, NAME, Editor, Make, Sublime, address
from .hosts import code_host

NEXT = "0.999.0"
BEFORE, AFTER = "one\n", "two\n"
NATIVE = {
    "linux-arm64": (".so", "aarch64"),
    "linux-x64": (".so", "x86_64"),
    "osx-arm64": (".so", "macosx_11_0_arm64"),
    "osx-x64": (".so", "macosx_10_"),
    "windows-arm64": (".pyd", "win_arm64"),
    "windows-x64": (".pyd", "win_amd64"),
}
"""From each platform to how its native modules end, and what is in the tags of their wheels."""


def accept_a_diff(editor: Editor, client: McpClient, name: str) -> None:
    """A CLI proposes a change, and the person accepts it."""
    path = editor.sublime.home.write(name, BEFORE)
    client.call("openDiff", filePath=str(path), newContent=AFTER)

    def proposal() -> int | None:
        home = editor.sublime.home
        views = [view for view in editor.views() if kind_of(home, view) == "proposal"]
        return next((one["id"] for one in views if value(home, one, "file_path") == str(path)), None)

    editor.do("command", name="qwen_companion_accept_diff", view=editor.wait("proposal", proposal))
    accepted = client.wait_for("ide/diffAccepted", lambda told: told["filePath"] == str(path))
    assert accepted["content"] == AFTER


def test_it_is_installed_from_a_folder_and_works_after_the_next_start(make: Make, offline: Path) -> None:
    """All of it: context, a diff, a chat. Nothing was there but Package Control."""
    sublime = make()
    editor = sublime.start()
    # The two steps of the README.
    editor.control("add_repository")
    assert "JSON repository URL" in editor.wait_question()["caption"]
    editor.do("answer", panel=address(offline))
    editor.control("install_package")
    editor.wait("list of packages", lambda: (editor.question() or {}).get("kind") == "quick_panel")
    (item,) = editor.wait_question()["items"]
    assert item["trigger"] == NAME
    editor.do("answer", panel=0)
    editor.served()
    assert set(sublime.versions()) == LIBRARIES
    installers = {path.read_text(encoding="utf-8") for path in sublime.libraries.glob("*.dist-info/INSTALLER")}
    assert installers == {"Package Control\n"}
    accept_once(editor)
    editor.quit()
    editor = sublime.start()
    with connect(editor.lock()) as client:
        assert set(client.tools()) == {"openDiff", "closeDiff"}
        client.wait_for("ide/contextUpdate")
        accept_a_diff(editor, client, "greet.py")
    chat(editor)
    assert not [line for line in editor.console() if "Traceback" in line]
    editor.quit()
    assert editor.lock_files() == []


def accept_once(editor: Editor) -> None:
    """The package works where it was installed just now, without a restart."""
    with connect(editor.served()) as client:
        client.wait_for("ide/contextUpdate")
        accept_a_diff(editor, client, "first.py")


def chat(editor: Editor) -> None:
    """A daemon says something in the window's chat."""

    async def talk() -> None:
        async with FakeDaemon().serving() as daemon:
            daemon.capabilities(str(editor.sublime.home.workspace))
            daemon.routes["POST /session"] = 200, {"sessionId": "s", "clientId": "c"}
            editor.sublime.configure(NAME, **{"chat_enabled": True, "daemon.url": daemon.address.url})

            def said() -> bool:
                return any("Hello from the daemon" in view["text"] for view in editor.views())

            def enabled() -> bool:
                editor.do("command", name="qwen_companion_chat")
                return any(kind_of(editor.sublime.home, view) == "chat" for view in editor.views())

            await asyncio.to_thread(editor.wait, "chat", enabled)
            (await daemon.streams.get()).say(1, "Hello from the daemon")
            await asyncio.to_thread(editor.wait, "answer in the chat", said)

    asyncio.run(asyncio.wait_for(talk(), 60))


def test_the_line_for_the_console_installs_it(make: Make, root: Path, offline: Path) -> None:
    """As docs/start.md has it, but for the address."""
    lines = [line.strip() for line in (root / "docs/start.md").read_text(encoding="utf-8").splitlines()]
    (line,) = (line for line in lines if line.startswith("sublime.run_command("))
    assert REPOSITORY in line
    sublime = make()
    editor = sublime.start()
    editor.do("command", name="watcher_console", args={"line": line.replace(REPOSITORY, address(offline))})
    accept_once(editor)
    assert set(sublime.versions()) == LIBRARIES
    editor.quit()


def test_the_readme_names_the_repository_and_commands_that_exist(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    install = text[text.index("## Install") : text.index("## Use")]
    assert install.count(REPOSITORY) == 1
    assert "install-libraries" not in text
    assert "Qwen: Repair Libraries" in install


def test_it_is_installed_from_a_host_that_redirects_twice(
    make: Make, root: Path, tmp_path: Path, offline: Path
) -> None:
    """As from the latest release of a code host, whose files are named by the tag."""
    folder = tmp_path / "dist"
    with code_host(__version__, lambda: folder) as (repository, asked):
        built(root, folder, __version__, "--offline", "--base", repository)
        sublime = make(f"{repository}/releases/latest/download/repository.json")
        editor = sublime.start()
        editor.install()
        editor.served()
        editor.quit()
        assert set(sublime.versions()) == LIBRARIES
        latest = [path for path in asked if "/latest/" in path]
        assert set(latest) == {"/o/r/releases/latest/download/repository.json"}
        assert len(asked) > 20


def test_every_platform_gets_the_wheels_that_fit_it(control: Path, offline: Path) -> None:
    """Package Control is told that it runs there."""

    def install(platform: str) -> None:
        sublime = Sublime(control, [address(offline)])
        try:
            editor = sublime.start(AS_PLATFORM=platform, LOAD_ONLY="Package Control")
            editor.install()
            editor.quit()
            assert set(sublime.versions()) == LIBRARIES
            suffix, tag = NATIVE[platform]
            for name in ("psutil", "pydantic_core"):
                (info,) = sublime.libraries.glob(f"{name}-*.dist-info")
                tags = [line for line in (info / "WHEEL").read_text().splitlines() if line.startswith("Tag:")]
                assert tags
                assert all(tag in line for line in tags), (platform, tags)
            natives = [path for path in sublime.libraries.rglob("*") if path.suffix in {".so", ".pyd", ".dylib"}]
            assert {path.suffix for path in natives} == {suffix}
            assert {path.relative_to(sublime.libraries).parts[0] for path in natives} == {"psutil", "pydantic_core"}
        finally:
            sublime.remove()

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(install, platform) for platform in NATIVE]:
            done.result()


def test_a_cli_that_is_connected_goes_on_over_an_upgrade(make: Make, root: Path, tmp_path: Path, offline: Path) -> None:
    """Nothing is typed, and the next diff works."""
    tree = next_version(root, tmp_path / "tree")
    served = shutil.copytree(offline, tmp_path / "served")
    sublime = make(address(served))
    editor = sublime.start()
    editor.install()
    with connect(editor.served()) as client:
        client.wait_for("ide/contextUpdate")
        accept_a_diff(editor, client, "before.py")
        shutil.rmtree(served)
        built(tree, served, NEXT, "--offline")
        contexts = len(client.received("ide/contextUpdate"))
        editor.control("upgrade_packages", packages=[NAME], unattended=True)
        editor.wait_console(f"{NAME} successfully upgraded")
        assert version(sublime) == NEXT
        editor.wait("stream of the CLI", lambda: len(client.received("ide/contextUpdate")) > contexts)
        accept_a_diff(editor, client, "after.py")
    editor.quit()


def test_an_older_version_is_never_an_upgrade_and_goes_on_where_it_is_put_into_place(
    make: Make, root: Path, tmp_path: Path, offline: Path
) -> None:
    """A release that was withdrawn: Package Control leaves the newer one alone, and the CLI outlives a step back."""
    newer = tmp_path / "newer"
    built(next_version(root, tmp_path / "tree"), newer, NEXT, "--offline")
    served = shutil.copytree(newer, tmp_path / "served")
    sublime = make(address(served))
    editor = sublime.start()
    editor.install()
    assert version(sublime) == NEXT
    libraries = sublime.versions()
    with connect(editor.served()) as client:
        client.wait_for("ide/contextUpdate")
        accept_a_diff(editor, client, "before.py")
        shutil.rmtree(served)
        shutil.copytree(offline, served)
        editor.control("upgrade_packages", packages=[NAME], unattended=True)
        editor.wait_console("up-to-date")
        assert version(sublime) == NEXT
        accept_a_diff(editor, client, "between.py")
        contexts = len(client.received("ide/contextUpdate"))
        sublime.drop(offline)
        editor.wait("stream of the CLI", lambda: len(client.received("ide/contextUpdate")) > contexts)
        accept_a_diff(editor, client, "after.py")
    assert (sublime.installed / f"{NAME}.sublime-package").read_bytes() == (
        offline / f"{NAME}.sublime-package"
    ).read_bytes()
    assert sublime.versions() == libraries
    assert not [line for line in editor.console() if "Traceback" in line]
    editor.quit()


def next_version(root: Path, tree: Path) -> Path:
    """A copy of the project that has a later version."""
    copied(root, tree)
    init = tree / "companion/__init__.py"
    init.write_text(init.read_text(encoding="utf-8").replace(f'"{__version__}"', f'"{NEXT}"'), encoding="utf-8")
    (tree / ".cache").symlink_to(root / ".cache")
    return tree


def version(sublime: Sublime) -> str:
    """The package's version, as Package Control has written it down."""
    with zipfile.ZipFile(sublime.installed / f"{NAME}.sublime-package") as package:
        return json.loads(package.read("package-metadata.json"))["version"]


def _flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("damage", [_flipped, lambda content: content[: len(content) // 2]], ids=["flipped", "half"])
def test_a_wheel_that_is_not_the_one_that_was_published_is_refused(
    make: Make, tmp_path: Path, offline: Path, damage: Callable[[bytes], bytes]
) -> None:
    """One that somebody has changed, and one of which the half has come."""
    served = shutil.copytree(offline, tmp_path / "served")
    (wheel,) = served.glob("uvicorn-*.whl")
    wheel.write_bytes(damage(wheel.read_bytes()))
    sublime = make(address(served))
    editor = sublime.start()
    editor.control("install_packages", packages=[NAME], unattended=True)
    editor.wait_console('Rejected download for "uvicorn" due to checksum mismatch')
    editor.quit()
    assert "uvicorn" not in sublime.versions()
    assert not (sublime.libraries / "uvicorn").exists()


def test_each_command_that_the_package_has_it_run_is_one_of_its_own(control: Path, root: Path) -> None:
    """Package Control 4 has renamed one: `advanced_install_package` is `install_packages` there."""
    room = (root / "companion/sublime_text/package_control.py").read_text(encoding="utf-8")
    run = set(re.findall(r'run_command\("(\w+)"', room))
    with zipfile.ZipFile(control) as archive:
        known = {
            re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Command")).lower()
            for file in archive.namelist()
            if file.startswith("package_control/commands/") and file.endswith(".py")
            for name in re.findall(r"^class (\w+Command)\(", archive.read(file).decode("utf-8"), re.MULTILINE)
        }
    assert "install_packages" in run
    assert sorted(run - known) == []


def test_nothing_is_left_when_it_is_removed(make: Make, offline: Path) -> None:
    """No file, no discovery file, no environment variable."""
    sublime = make(address(offline))
    editor = sublime.start()
    before = editor.environment().keys()
    editor.install()
    with connect(editor.lock()) as client:  # what is still being imported would be compiled into folders that are gone
        assert client.tools()
    assert editor.wait("variables", lambda: editor.environment().keys() - before)
    editor.control("remove_packages", packages=[NAME])
    editor.wait("removed package", lambda: not (sublime.installed / f"{NAME}.sublime-package").exists())
    editor.wait("removed libraries", lambda: not sublime.versions())
    editor.wait("removed discovery files", lambda: not editor.lock_files())
    assert editor.environment().keys() == before
    # Whoever removes a package may be about to install it anew: what a CLI watches stays for a moment.
    editor.wait("removed socket", lambda: not list(sublime.home.tmp.rglob("qwen-*")))
    editor.wait("removed lock file", lambda: not list((sublime.home.home / ".copilot").rglob("*.lock")))
    editor.quit()
    left = [path for path in sublime.home.root.rglob("*") if path.is_file() and "qwen" in path.name.lower()]
    assert left == []
    # Package Control has put its own module there.
    assert {path.name for path in sublime.libraries.iterdir()} <= {"__pycache__", "package_control.py"}
