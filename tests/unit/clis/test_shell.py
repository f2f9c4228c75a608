"""Texts for shells and for prompts: what a shell makes of them is tried with the shells that this machine has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from companion.clis.families import GEMINI_CLI, QWEN_CODE
from companion.clis.shell import (
    NOT_FOUND,
    Command,
    Shell,
    environment_commands,
    login_command,
    mention,
    named,
    plain_command,
    plain_windows_command,
    quoted,
    usual_shell,
    windows_command,
)

QWEN, GEMINI = QWEN_CODE.launch, GEMINI_CLI.launch
ODD = [
    "",
    "a b",
    "it's",
    'say "hi"',
    "$HOME",
    "`id`",
    "a\\",
    "\\'",
    "!!",
    "~",
    "*",
    "漢字 é",
    "a\nb",
    "\u2018typographic\u2019",
    "-n",
]
# No NUL and no lone surrogate: neither can be in an environment variable.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
posix = pytest.mark.skipif(sys.platform == "win32", reason="there is no sh on Windows")


def echoed(program: str, texts: list[str]) -> list[str]:
    """What a shell of the sh family makes of quoted texts that are exported."""
    variables = {f"V{i}": text for i, text in enumerate(texts)}
    shown = "".join(f'printf "%s\\0" "$V{i}"\n' for i in range(len(texts)))
    script = environment_commands(variables, "sh") + shown
    done = subprocess.run([program], input=script.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


@posix
@pytest.mark.parametrize("program", ["sh", "bash", "dash", "zsh"])
def test_sh_gives_back_every_odd_text(program: str):
    if shutil.which(program) is None:
        pytest.skip(f"no {program} on this machine")
    assert echoed(program, ODD) == ODD


@posix
@settings(max_examples=settings().max_examples * 3 // 5, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(TEXTS, min_size=1, max_size=20))
def test_sh_gives_back_any_text(texts: list[str]):
    assert echoed("sh", texts) == texts


def fish_text(word: str) -> str:
    """What fish reads in single quotes: a backslash escapes a backslash and a single quote, and nothing else."""
    inner = re.fullmatch(r"'((?:[^'\\]|\\.)*)'", word, re.DOTALL)
    assert inner, word
    return re.sub(r"\\(['\\])", r"\1", inner[1])


def powershell_text(word: str) -> str:
    """What PowerShell reads in single quotes: of a doubled quote of any kind, the first."""
    quotes = "'\u2018\u2019\u201a\u201b"
    inner = re.fullmatch(f"'((?:[^{quotes}]|[{quotes}][{quotes}])*)'", word, re.DOTALL)
    assert inner, word
    return re.sub(f"([{quotes}])[{quotes}]", r"\1", inner[1])


@pytest.mark.parametrize("text", ODD)
def test_fish_and_powershell_give_back_every_odd_text(text: str):
    assert fish_text(quoted(text, "fish")) == text
    assert powershell_text(quoted(text, "powershell")) == text


@given(TEXTS)
def test_fish_and_powershell_give_back_any_text(text: str):
    assert fish_text(quoted(text, "fish")) == text
    assert powershell_text(quoted(text, "powershell")) == text


def test_the_real_fish_gives_back_every_odd_text():
    if shutil.which("fish") is None:
        pytest.skip("no fish on this machine")
    for text in ODD:
        script = environment_commands({"V": text}, "fish") + 'printf "%s" "$V"'
        assert subprocess.run(["fish", "-c", script], capture_output=True, check=True).stdout.decode() == text


@pytest.mark.parametrize(
    ("shell", "line"),
    [("sh", "export A=1\nexport B='x y'\n"), ("fish", "set -gx A '1'\nset -gx B 'x y'\n"),
     ("powershell", "$env:A = '1'\n$env:B = 'x y'\n")],
)  # fmt: skip
def test_a_command_for_each_variable(shell: Shell, line: str):
    assert environment_commands({"A": "1", "B": "x y"}, shell) == line


class Home:
    """A home whose login shell finds programs that nobody else finds."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "own bin"
        self.bin.mkdir()
        self.root = root
        (root / ".profile").write_text(f'PATH="{self.bin}:$PATH"\n')
        (root / ".bash_profile").write_text(". ~/.profile\n")
        (root / ".zprofile").write_text(". ~/.profile\n")

    def program(self, name: str) -> None:
        """A program that tells what it was given, and who its parent is."""
        path = self.bin / name
        path.write_text(
            f"#!{sys.executable}\nimport os, sys\nprint(sys.argv[1:], os.environ['TERM_PROGRAM'])\n"
            "print(open(f'/proc/{os.getppid()}/cmdline').read().split('\\0')[0] if os.path.isdir('/proc') else '?')\n"
            "sys.exit(3)\n"
        )
        path.chmod(0o755)

    def run(self, shell: str, command: Command, *, resume: bool = False) -> subprocess.CompletedProcess[str]:
        """Run what the terminal would."""
        return subprocess.run(
            login_command(shell, QWEN, command, resume=resume),
            env={"HOME": str(self.root), "PATH": os.environ["PATH"], "TERM_PROGRAM": "Terminus-Sublime"},
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=120,
        )  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def shells() -> list[str]:
    return [path for name in ("bash", "dash", "zsh", "ksh") if (path := shutil.which(name))]


@posix
@pytest.mark.parametrize("shell", shells())
class TestLoginCommand:
    """What the terminal of "Run Qwen Code" starts."""

    def test_the_start_up_files_of_the_shell_hold_and_the_shell_stays_the_parent(self, home: Home, shell: str):
        home.program("qwen")
        done = home.run(shell, ["qwen"])
        assert done.stdout.splitlines()[0] == "['--approval-mode', 'default'] sublime"
        if os.path.isdir("/proc"):
            assert done.stdout.splitlines()[1] == shell
        assert done.returncode == 3

    def test_the_persons_arguments_come_through(self, home: Home, shell: str):
        home.program("qwen")
        done = home.run(shell, ["qwen", "--model", "it's a $HOME"], resume=True)
        assert done.stdout.splitlines()[0] == (
            "['--model', \"it's a $HOME\", '--approval-mode', 'default', '--continue'] sublime"
        )

    def test_a_line_is_run_by_the_shell(self, home: Home, shell: str):
        home.program("qwen")
        done = home.run(shell, "X=$HOME; qwen --yolo $X")
        assert done.stdout.splitlines()[0] == f"['--yolo', '{home.root}'] sublime"

    def test_a_program_on_the_editors_path_alone_is_found(
        self, home: Home, shell: str, monkeypatch: pytest.MonkeyPatch
    ):
        """A start-up file may set a PATH that has nothing of the one from before."""
        home.program("qwen")
        monkeypatch.setenv("PATH", str(home.bin), prepend=os.pathsep)
        (home.root / ".profile").write_text("PATH=/usr/bin:/bin\n")
        assert home.run(shell, ["qwen"]).stdout.splitlines()[0] == "['--approval-mode', 'default'] sublime"

    def test_so_is_the_program_of_a_sign_in(self, home: Home, shell: str, monkeypatch: pytest.MonkeyPatch):
        home.program("own-agent")
        monkeypatch.setenv("PATH", str(home.bin), prepend=os.pathsep)
        (home.root / ".profile").write_text("PATH=/usr/bin:/bin\n")
        line = plain_command(shell, ["own-agent", "log in"])
        variables = {"HOME": str(home.root), "PATH": "/usr/bin:/bin", "TERM_PROGRAM": "x"}
        done = subprocess.run(line, env=variables, capture_output=True, text=True, check=False, timeout=120)
        assert done.stdout.splitlines()[0] == "['log in'] x"

    def test_a_missing_program_is_told_in_one_sentence(self, home: Home, shell: str):
        done = home.run(shell, ["qwen"])
        assert done.stdout == (
            "QwenCompanion: qwen is not on the PATH of your login shell or of Sublime Text. "
            "Install it with: npm install -g @qwen-code/qwen-code - or name yours in the setting qwen_command.\n"
        )
        assert done.returncode == NOT_FOUND


@pytest.mark.parametrize(
    "command",
    [["qwen", "--approval-mode", "plan"], ["qwen", "--approval-mode=plan"], ["qwen", "-y"], "qwen --yolo", "qwen  -y "],
)
def test_a_mode_that_the_person_has_set_stays(command: Command):
    assert "default" not in login_command("/bin/sh", QWEN, command)[-1]


def test_a_mode_of_the_persons_settings_stays():
    assert "--approval-mode" not in login_command("/bin/sh", QWEN, ["qwen"], is_decided=True)[-1]


def test_the_persons_own_servers_stay():
    assert "--mcp-config '/my data/a.json'" in login_command("/bin/sh", QWEN, ["qwen"], mcp="/my data/a.json")[-1]
    for command in (["qwen", "--mcp-config", "own"], "qwen --mcp-config=own"):
        assert "a.json" not in login_command("/bin/sh", QWEN, command, mcp="a.json")[-1]


def test_gemini_cli_asks_by_itself():
    assert "--approval-mode" not in login_command("/bin/sh", GEMINI, ["gemini"], resume=True)[-1]
    assert "gemini --resume latest" in login_command("/bin/sh", GEMINI, ["gemini"], resume=True)[-1]


def test_an_empty_command_is_the_usual_one():
    assert "; qwen --approval-mode default; exit" in login_command("/bin/sh", QWEN, [])[-1]


def test_fish_is_quoted_as_fish():
    assert r"'a\\b\'c'" in login_command("/usr/bin/fish", QWEN, ["qwen", "a\\b'c"])[-1]


@posix
class TestOnWindows:
    """A folder of this system stands for one of Windows."""

    @pytest.fixture(autouse=True)
    def windows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "platform", "win32")
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("SYSTEMROOT", r"C:\Windows")
        for name in ("qwen.exe", "q & a.cmd", "R&D.exe", "100%.cmd"):
            (tmp_path / name).touch(mode=0o755)

    def test_a_program_is_started_by_its_path(self, tmp_path: Path):
        assert windows_command(QWEN, ["qwen"], resume=True) == [
            r"C:\Windows\System32\cmd.exe", "/c", "set", "TERM_PROGRAM=sublime&&",
            f"{tmp_path}/qwen.exe", "--approval-mode", "default", "--continue",
        ]  # fmt: skip
        assert windows_command(QWEN, "R&D", is_decided=True)[-1] == f"{tmp_path}/R^&D.exe"
        assert plain_windows_command(["qwen", "a&b"]) == [f"{tmp_path}/qwen.exe", "a&b"]

    def test_a_batch_file_is_called_by_the_systems_interpreter(self, tmp_path: Path):
        path = f"{tmp_path}/q & a.cmd"
        assert windows_command(QWEN, [path], is_decided=True)[4:] == ["call", path]
        assert plain_windows_command([path, "in"]) == [r"C:\Windows\System32\cmd.exe", "/c", "call", path, "in"]
        with pytest.raises(LookupError, match="batch file"):
            plain_windows_command([path, "a&b"])
        with pytest.raises(LookupError, match="batch file"):
            windows_command(QWEN, "100%")

    def test_a_missing_program_is_told(self):
        with pytest.raises(LookupError, match="npm install -g"):
            windows_command(QWEN, "missing")
        with pytest.raises(LookupError, match="missing is not on the PATH"):
            plain_windows_command(["missing"])

    @pytest.mark.parametrize(
        "command", ["qwen --approval-mode plan", "qwen --approval-mode=plan", "qwen -y", '"qwen"  --yolo ']
    )
    def test_a_mode_that_the_person_has_set_stays(self, command: Command):
        assert "default" not in windows_command(QWEN, command)


@posix
@pytest.mark.parametrize("name", ["zsh", "fish", "dash"])
def test_the_persons_own_shell_is_used_if_it_understands(tmp_path: Path, name: str):
    shell = tmp_path / name
    shell.write_text("#!/bin/sh\n")
    shell.chmod(0o755)
    assert usual_shell({"SHELL": str(shell)}) == str(shell)


@posix
@pytest.mark.parametrize("named", ["/bin/tcsh", "/usr/bin/nu", "zsh", "", "/no/such/folder/zsh"])
def test_another_shell_is_used_instead_of_one_that_does_not_understand_or_is_missing(named: str):
    assert usual_shell({"SHELL": named}) in ("/bin/bash", "/bin/zsh", "/bin/sh")


def name(path: str, folder: str = "/folder", lines: list[tuple[int, int]] | None = None) -> str | None:
    return mention(path, folder, QWEN, lines or [], windows=False)


@posix
class TestMention:
    """What is put into a CLI's prompt."""

    @pytest.mark.parametrize(
        ("path", "said"),
        [
            ("/folder/app.py", "@app.py "),
            ("/folder/src/app.py", "@src/app.py "),
            ("/other/app.py", "@/other/app.py "),
            ("/folders/app.py", "@/folders/app.py "),
            ("/folder/my file.py", r"@my\ file.py "),
            ("/folder/a(1),[2]{3};4!5?.py", r"@a\(1\)\,\[2\]\{3\}\;4\!5\?.py "),
            ("/folder/$HOME`id`'\"#&<>|*~.py", r"@\$HOME\`id\`\'\"\#\&\<\>\|\*\~.py "),
            ("/folder/漢字.py", "@漢字.py "),
            ("/folder/.env", "@.env "),
            # Qwen Code would look for the session of that name.
            ("/folder/session:x", "@./session:x "),
            # Behind an @ it would end before these, or stay escaped.
            ("/folder/back\\slash.py", '"back\\slash.py" '),
            ("/folder/no\u00a0break.py", '"no\u00a0break.py" '),
            ("/folder/dot.", '"dot." '),
        ],
    )
    def test_a_path(self, path: str, said: str):
        assert name(path) == said

    @pytest.mark.parametrize("key", ["\n", "\r", "\t", "\x1b", "\x03", "\x7f", "\x9b"])
    def test_a_path_never_presses_a_key(self, key: str):
        assert name(f"/folder/a{key}b") is None

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            ([(3, 3)], "@app.py line 3 "),
            ([(3, 7)], "@app.py lines 3-7 "),
            ([(3, 3), (9, 9)], "@app.py lines 3, 9 "),
            ([(3, 7), (9, 9)], "@app.py lines 3-7, 9 "),
        ],
    )
    def test_lines(self, lines: list[tuple[int, int]], said: str):
        assert name("/folder/app.py", lines=lines) == said

    def test_without_a_folder_the_whole_path(self):
        assert name("/folder/app.py", folder="") == "@/folder/app.py "

    @given(st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1))
    def test_both_families_read_the_very_path(self, file: str):
        said = name(f"/folder/{file}")
        if said is None or not said.startswith("@") or file in (".", ".."):
            return
        expected = f"./{file}" if ":" in file else file
        assert read_by_qwen(said + "and more") == expected
        assert read_by_gemini(said + "and more") == expected


def read_by_qwen(prompt: str) -> str:
    """The path behind the @ at the start, as Qwen Code 0.24.4 reads it (`parseAllAtCommands`, `unescapePath`)."""
    end, escaped = 1, False
    while end < len(prompt):
        char, following = prompt[end], prompt[end + 1 : end + 2]
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif re.match(r"[,\s;!?()\[\]{}]", char) or (char == "." and (not following or following.isspace())):
            break
        end += 1
    return re.sub(r"""\\([ \t()[\]{};|*?$`'"#&<>!~,])""", r"\1", prompt[1:end])


def read_by_gemini(prompt: str) -> str:
    """The same as Gemini CLI 0.61 does (`AT_COMMAND_PATH_REGEX_SOURCE`, `unescapePath`)."""
    found = re.match(r'@((?:(?:"(?:[^"]*)")|(?:\\.|[^ \t\n\r,;!?()\[\]{}.]|\.(?!$|[ \t\n\r])))+)', prompt)
    assert found, prompt
    return re.sub(r"\\(.)", r"\1", found[1])


class TestMentionOnWindows:
    """There, Qwen Code unescapes nothing, and Gemini CLI knows double quotes."""

    @pytest.mark.parametrize(
        ("path", "qwen", "gemini"),
        [
            ("C:/folder/src/app.py", "@C:/folder/src/app.py ", "@C:/folder/src/app.py "),
            ("C:\\folder\\app.py", "@C:/folder/app.py ", "@C:/folder/app.py "),
            ("C:/my work/app.py", '"C:/my work/app.py" ', '@"C:/my work/app.py" '),
        ],
    )
    def test_a_path(self, path: str, qwen: str, gemini: str):
        assert mention(path, "", QWEN, windows=True) == qwen
        assert mention(path, "", GEMINI, windows=True) == gemini
        assert mention(path, "", None, windows=True) == qwen


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/folder/x\x1b[201~\rtouch PWNED\r.py", '"x\\x1b[201~\\x0dtouch PWNED\\x0d.py" line 3 '),
        ("/folder/x\x9b201~\n@.env", '"x\\x9b201~\\x0a\\@.env" line 3 '),
        ("/folder/a\\ @.env", '"a\\ \\@.env" line 3 '),
        ("/folder/a\udcff.py", '"a\\udcff.py" line 3 '),
        ("/folder/!\u202e.py", '"!\\u202e.py" line 3 '),
        ("/folder/`id`.py", "@\\`id\\`.py line 3 "),
    ],
)
@posix
def test_a_file_without_a_mention_is_named_in_quotes_that_are_no_mention(path: str, said: str):
    assert named(path, "/folder", QWEN, [(3, 3)]) == said
