"""The lines that connect a CLI elsewhere, run by a shell as a person pastes them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from companion.clis.elsewhere import ONLY_HERE, Elsewhere, Place, steps

PORT = 40123
TOKENS = {"Qwen Code": "t'1", "Gemini CLI": "t2", "Claude Code": "t3"}


def test_over_ssh_the_port_leads_back() -> None:
    here, there = steps(Elsewhere("ssh", "me@buildbox"), PORT, TOKENS, {"/home/me/app": "/srv/app"})
    assert here.lines == ["ssh -R 40123:127.0.0.1:40123 me@buildbox"]
    assert there.lines[-2] == "cd /srv/app"


def test_a_host_is_one_word_of_the_line() -> None:
    assert steps(Elsewhere("ssh", "a; rm -rf x"), PORT, TOKENS, {})[0].lines == [
        "ssh -R 40123:127.0.0.1:40123 'a; rm -rf x'"
    ]


def test_a_container_gets_the_folders_and_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def line(system: str) -> str:
        monkeypatch.setattr("companion.clis.elsewhere.sys.platform", system)
        return steps(Elsewhere("container"), PORT, TOKENS, {"/home/me/my app": "/work"})[0].lines[0]

    def there() -> list[str]:
        return steps(Elsewhere("container"), PORT, TOKENS, {})[1].lines

    assert line("linux") == "docker run -it --network host -v '/home/me/my app:/work' IMAGE"
    assert "export CLAUDE_CODE_IDE_HOST_OVERRIDE=host.docker.internal" not in there()
    assert line("win32") == 'docker run -it -v "/home/me/my app:/work" IMAGE'
    assert "export CLAUDE_CODE_IDE_HOST_OVERRIDE=host.docker.internal" in there()
    assert line("darwin") == "docker run -it -v '/home/me/my app:/work' IMAGE"


def test_a_line_for_windows_is_one_for_powershell_and_for_cmd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single quotes mean nothing to `cmd.exe`."""
    monkeypatch.setattr("companion.clis.elsewhere.sys.platform", "win32")
    here = steps(Elsewhere("container"), PORT, TOKENS, {r"C:\R&D\app": "/work", r"D:\b": "/b"})[0]
    assert here.lines == [r'docker run -it -v "C:\R&D\app:/work" -v D:\b:/b IMAGE']
    assert steps(Elsewhere("ssh", "me@box"), PORT, TOKENS, {})[0].lines == ["ssh -R 40123:127.0.0.1:40123 me@box"]
    assert steps(Elsewhere("ssh", "a & b"), PORT, TOKENS, {})[0].lines == ['ssh -R 40123:127.0.0.1:40123 "a & b"']


def test_the_lines_for_wsl_word_for_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can run WSL here, so that this is all that shows them."""
    monkeypatch.setattr("companion.clis.elsewhere.sys.platform", "win32")
    monkeypatch.setattr("companion.clis.elsewhere.os.getppid", lambda: 4711)
    folders = {r"C:\Users\ada\my app": "/mnt/c/Users/ada/my app", r"D:\b": "/mnt/d/b"}
    here, there = steps(Elsewhere("wsl"), PORT, TOKENS | {"Qwen Code": "t1"}, folders)
    assert here.title == "Once, in the file .wslconfig of your home folder; then run: wsl --shutdown"
    assert here.lines == ["[wsl2]", "networkingMode=mirrored"]
    assert there.title == "In the shell of WSL:"
    named = "/mnt/c/Users/ada/my app:/mnt/d/b"
    lock = (
        f'{{"port": 40123, "workspacePath": "{named}", "authToken": "t1", "ideName": "Sublime Text", '
        '"ideInfo": {"name": "sublimetext", "displayName": "Sublime Text"}}'
    )
    folder = '"${QWEN_HOME:-$HOME/.qwen}/ide"'
    claude = (
        '{"workspaceFolders": ["/mnt/c/Users/ada/my app", "/mnt/d/b"], "transport": "ws", "authToken": "t3", '
        '"ideName": "Sublime Text", "ideInfo": {"name": "sublimetext", "displayName": "Sublime Text"}}'
    )
    claudes = '"${CLAUDE_CONFIG_DIR:-$HOME/.claude}/ide"'
    assert there.lines == [
        f"(umask 077; mkdir -p {folder} && printf '%s\\n' '{lock}' > {folder}/40123.lock)",
        f"(umask 077; mkdir -p {claudes} && printf '%s\\n' '{claude}' > {claudes}/40123.lock)",
        "export QWEN_CODE_IDE_SERVER_PORT=40123",
        f"export QWEN_CODE_IDE_WORKSPACE_PATH='{named}'",
        "export GEMINI_CLI_IDE_SERVER_PORT=40123",
        f"export GEMINI_CLI_IDE_WORKSPACE_PATH='{named}'",
        "export GEMINI_CLI_IDE_AUTH_TOKEN=t2",
        "export GEMINI_CLI_IDE_PID=4711",
        "export CLAUDE_CODE_SSE_PORT=40123",
        "export ENABLE_IDE_INTEGRATION=true",
        "export TERM_PROGRAM=sublime",
        "cd '/mnt/c/Users/ada/my app'",
        (
            """node -e 'const n=require('"'"'net'"'"');let left=1;for(const h of ["127.0.0.1"])"""
            """n.connect(40123,h).on('"'"'connect'"'"',"""
            """()=>{console.log('"'"'The editor answers.'"'"');process.exit(0)})"""
            """.on('"'"'error'"'"',e=>{if(!--left)"""
            """{console.log('"'"'The editor does not answer: '"'"'+e.message);process.exit(1)}})'"""
        ),
    ]


@pytest.mark.parametrize(
    ("where", "words"),
    [(Elsewhere("ssh", "me@box"), "on box"), (Elsewhere("container"), "in a container"), (Elsewhere("wsl"), "in WSL")],
)
def test_a_place_is_named_in_words(where: Elsewhere, words: str) -> None:
    assert where.words == words


@pytest.mark.skipif(os.name == "nt", reason="a shell of the other side")
@pytest.mark.parametrize("place", ["ssh", "container", "wsl"])
def test_the_lines_of_the_other_side_write_the_file_and_the_variables(tmp_path: Path, place: Place) -> None:
    folder = tmp_path / "it's a $folder"
    folder.mkdir()
    home = tmp_path / "home"
    there = steps(Elsewhere(place, "h"), PORT, TOKENS, {"/here": str(folder), "/b": "/b"})[-1]
    script = "\n".join([*there.lines[:-1], "pwd", "env"])
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(["/bin/sh"], input=script, env=environment, capture_output=True, text=True, check=True)
    cwd, *shown = done.stdout.splitlines()
    variables = {name: value for name, _, value in (line.partition("=") for line in shown)}
    assert (cwd, done.stderr) == (str(folder), "")
    assert variables["QWEN_CODE_IDE_SERVER_PORT"] == variables["GEMINI_CLI_IDE_SERVER_PORT"] == str(PORT)
    assert variables["QWEN_CODE_IDE_WORKSPACE_PATH"] == f"{folder}:/b"
    assert variables["GEMINI_CLI_IDE_AUTH_TOKEN"] == "t2"
    lock = home / ".qwen" / "ide" / f"{PORT}.lock"
    body = json.loads(lock.read_text())
    assert (body["authToken"], body["workspacePath"], body["port"]) == ("t'1", f"{folder}:/b", PORT)
    assert "ppid" not in body, "it would be a process of this machine"
    assert lock.stat().st_mode & 0o077 == 0


def test_those_that_do_not_connect_from_there_are_named():
    assert ONLY_HERE == "Copilot CLI and OpenCode connect from this computer only."
