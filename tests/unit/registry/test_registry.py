"""The list of agents, and what installing one does."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from companion.editor import WindowId
from companion.platforms import programs
from companion.registry import registry as module
from companion.registry.entries import (
    ArchiveError,
    DamagedListError,
    DownloadError,
    InstallError,
    PackageSource,
    RegistryError,
    is_newer,
    plan,
    prepare,
    read_day,
    read_entries,
    system,
)
from tests.agent_talk import run
from tests.parts import has

from .serving import PROGRAM, Place, entry, from_archive, listed, tar, zipped

SHIPPED = Path(module.__file__).with_name("registry.json")


def ran(
    words: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


async def test_the_list_is_downloaded_once_a_day(place: Place):
    place.serve(entry())
    first = await place.look()
    assert ([each.name for each in first.entries], first.why) == (["Mine"], "")
    assert (await place.look()).entries == first.entries
    assert place.served.asked == ["/registry.json"]
    kept = place.home / "cache" / "registry.json"
    if os.name != "nt":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    old = kept.stat().st_mtime - module.DAY - 1
    os.utime(kept, (old, old))
    place.serve(entry(), entry("other"))
    assert len((await place.look()).entries) == 2
    await place.look(anew=True)
    assert len(place.served.asked) == 3


def test_nothing_is_downloaded_before_the_list_is_asked_for(place: Place):
    assert place.served.asked == []


@pytest.mark.parametrize("damage", [None, b"", b"<html>", b"[]", b'{"agents": 1}', b'{"agents": [{}]}', b"[" * 99_999])
async def test_a_list_that_can_not_be_had_is_one_sentence_and_the_last_one_stays(place: Place, damage: bytes | None):
    if damage is not None:
        place.served.put("/registry.json", damage)
    copied = await place.look(SHIPPED.read_bytes())
    assert (copied.at, len(copied.entries) > 5) == (0.0, True)
    assert copied.day == read_day(SHIPPED.read_bytes())
    assert copied.why.count(".") >= 1
    assert "Traceback" not in copied.why
    assert not (place.home / "cache" / "registry.json").exists()
    place.serve(entry())
    await place.look()
    place.served.pages = {} if damage is None else {"/registry.json": damage}
    listing = await place.look(anew=True)
    assert [each.id for each in listing.entries] == ["mine"]
    assert listing.why


async def test_a_list_that_never_ends_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LIST_LIMIT", 1024**2)
    place.served.put("/registry.json", b"x" * 100_000)
    place.served.endless.add("/registry.json")
    listing = await place.look(listed(entry("copy")))
    assert listing.why == "127.0.0.1 can't be reached: it sends more than 1 MB."
    place.served.endless.clear()
    place.serve(entry())
    place.served.short.add("/registry.json")
    assert "closed before the end" in (await place.look(listed(entry("copy")))).why


def test_neither_a_list_nor_a_copy_is_an_error(place: Place):
    with pytest.raises(DamagedListError):
        run(place.look(b"no"))


SYSTEMS = [f"{kind}-{machine}" for kind in ("darwin", "linux", "windows") for machine in ("aarch64", "x86_64")]


def test_the_list_that_ships_can_be_read_whole_and_says_of_which_day_it_is():
    shipped = json.loads(SHIPPED.read_bytes())
    entries = read_entries(SHIPPED.read_bytes())
    assert sorted(each.id for each in entries) == [each["id"] for each in shipped["agents"]]
    for each in entries:
        assert each.license
        assert each.source
        plans = [found for on in SYSTEMS if (found := plan(each, on=on))]
        assert plans
        assert all(found.runner is None or each.version in " ".join(found.command) for found in plans)
    assert shipped["origin"]["from"]
    assert read_day(SHIPPED.read_bytes()) == shipped["origin"]["on"]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", shipped["origin"]["on"])


def test_a_list_says_only_of_which_day_it_is():
    assert read_day(b"[]") == read_day(b"{}") == read_day(b'{"origin": {"on": 7}}') == ""
    assert read_day(b'{"origin": {"on": "2026\\u202e-11"}}') == "2026-11"


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "../mine"},
        {"id": "Mine"},
        {"id": "x" * 100},
        {"version": "../../1"},
        {"version": 1},
        {"version": "1.0."},  # on Windows the folder would have another name
        {"name": ""},
        {"name": 3},
        {"distribution": {}},
        {"distribution": {"npx": {"package": "--registry=http://evil.example"}}},
        {"distribution": {"npx": {"package": "https://evil.example/a.tgz"}}},
        {"distribution": {"npx": {"package": "git+ssh://evil.example/a"}}},
        {"distribution": {"npx": {"package": "../a"}}},
        {"distribution": {"npx": {"package": "a@1 b"}}},
        {"distribution": {"npx": {"package": "a@1", "args": ["a\nb"]}}},
        {"distribution": {"npx": {"package": "a@1", "args": ["\u202egpj"]}}},
        {"distribution": {"npx": {"package": "a@1", "args": "--acp"}}},
        {"distribution": {"npx": {"package": "a@1", "env": {"A B": "1"}}}},
        {"distribution": {"npx": {"package": "a@1", "env": {"A": 1}}}},
        {"distribution": {"npx": {"package": "mine@1.tgz"}}},
        {"distribution": {"npx": {"package": "mine@1.2.3-a.TGZ"}}},
        {"distribution": {"npx": {"package": "mine@1.2.3+b.tar.gz"}}},
        {"distribution": {"npx": {"package": "mine@file:a"}}},
        {"distribution": {"npx": {"package": "mine@.."}}},
        {"distribution": {"npx": {"package": "mine@git+https://evil.example/a"}}},
        {"distribution": {"npx": {"package": "mine@npm:other@1.0.0"}}},
        {"distribution": {"npx": {"package": "user/mine"}}},
        {"distribution": {"npx": {"package": "github:user/mine"}}},
        {"distribution": {"npx": {"package": "mine.tgz"}}},
        {"distribution": {"uvx": {"package": "mine.tar.zst"}}},
        {"distribution": {"uvx": {"package": "mine.txz"}}},
        {"distribution": {"uvx": {"package": "mine.whl[acp]"}}},
        {"distribution": {"npx": {"package": "mine.tar.gz@1.2.3"}}},
        {"distribution": {"npx": {"package": "x" * 301}}},
        {"version": "1.tgz", "distribution": {"npx": {"package": "mine"}}},
        {"version": "1.2", "distribution": {"npx": {"package": "mine@latest"}}},
        {"version": "1.2.3-a.tgz", "distribution": {"npx": {"package": "mine"}}},
        {"version": "1.x", "distribution": {"uvx": {"package": "mine"}}},
        {"version": "1.whl", "distribution": {"uvx": {"package": "mine"}}},
        {"distribution": {"uvx": {"package": "mine.whl"}}},
        {"distribution": {"uvx": {"package": "mine.py"}}},
        {"distribution": {"uvx": {"package": "mine==1.whl"}}},
        {"distribution": {"uvx": {"package": "mine@git+https://evil.example/a"}}},
        {"distribution": {"uvx": {"package": "--with evil"}}},
        {"distribution": {"uvx": {"package": "a @ https://evil.example/a.whl"}}},
        {"distribution": {"binary": {system(): {"archive": "http://example.com/a.zip", "cmd": "./a"}}}},
        {"distribution": {"binary": {system(): {"archive": "file:///etc/passwd", "cmd": "./a"}}}},
        {"distribution": {"binary": {system(): {"archive": "https://u:p@example.com/a.zip", "cmd": "./a"}}}},
        # To a browser the host of this is evil.example, and to urllib example.com.
        {"distribution": {"binary": {system(): {"archive": "https://evil.example\\@example.com/a", "cmd": "./a"}}}},
        {"distribution": {"binary": {system(): {"archive": "https://evil.example\\.example.com/a", "cmd": "./a"}}}},
        {"distribution": {"binary": {system(): {"archive": "https://example.com/a.zip", "cmd": "../../bin/sh"}}}},
        {"distribution": {"binary": {system(): {"archive": "https://example.com/a.zip", "cmd": "/bin/sh"}}}},
        {"distribution": {"binary": {system(): {"archive": "https://example.com/a.zip", "cmd": "C:\\a.exe"}}}},
        {"distribution": {"binary": {system(): {"archive": "https://example.com/a", "cmd": "a", "sha256": "12"}}}},
        {"distribution": {"binary": {"beos-ppc": {"archive": "https://example.com/a", "cmd": "a"}}}},
    ],
)
def test_an_entry_that_is_not_safe_is_left_out(fields: dict[str, object]):
    assert [each.id for each in read_entries(listed({**entry("odd"), **fields}, entry()))] == ["mine"]


def test_what_is_shown_has_nothing_hidden_in_it():
    [found] = read_entries(
        listed(entry(name="Cl\u202eaude\u200b\n  Agent", license="M\x1bIT", repository="javascript:1"))
    )
    assert (found.name, found.license, found.repository) == ("Claude Agent", "MIT", "")
    assert found.source == "@some/mine@1.2.3"


UNSEEN = "\u3164\u115f\u034f\U000e0101\u180b\ufe0f"
"""Characters that count as printable."""


def test_what_is_printable_and_can_not_be_seen_is_left_out_as_well():
    [found] = read_entries(listed(entry(name=f"Mi{UNSEEN}ne", repository=f"https://a.example/{UNSEEN}")))
    assert (found.name, found.repository) == ("Mine", "")
    fields = {"package": "mine@1.2.3", "archive": "https://a.example/a.zip", "cmd": "./a"}
    for more in ({"args": [f"a{UNSEEN}b"]}, {"env": {"A": UNSEEN}}, {"cmd": f"./a{UNSEEN}"}):
        distribution = {"binary": {system(): fields | more}}
        assert [each.id for each in read_entries(listed(entry("odd", distribution=distribution), entry()))] == ["mine"]


def test_a_package_is_pinned_at_the_version_of_the_registry():
    npx = {"npx": {"package": "@some/mine"}}
    uvx = {"uvx": {"package": "mine[acp]", "args": ["serve"]}}
    [one, two] = read_entries(listed(entry("a", distribution=npx), entry("b", distribution=uvx)))
    assert (one.packages[0].package, two.packages[0].package) == ("@some/mine@1.2.3", "mine[acp]@1.2.3")
    found = plan(two)
    assert found
    assert found.command == ("uvx", "mine[acp]@1.2.3", "serve")


@pytest.mark.parametrize(
    ("runner", "package", "expected"),
    [
        ("npx", "@some/mine@latest", "@some/mine@1.2.3"),
        ("npx", "mine@next", "mine@1.2.3"),
        ("npx", "mine@1.2.4-rc.1", "mine@1.2.4-rc.1"),
        ("npx", "mine@v1.2.4", "mine@v1.2.4"),
        ("npx", "mine@1", "mine@1.2.3"),
        ("npx", "mine@1.2", "mine@1.2.3"),
        ("npx", "mine@1.2.x", "mine@1.2.3"),
        ("npx", "mine@1.2.4-rc.1+5", "mine@1.2.4-rc.1+5"),
        ("uvx", "mine@2026.1.2rc1.post2.dev3", "mine@2026.1.2rc1.post2.dev3"),
        ("uvx", "mine==1!2.0+local.1", "mine==1!2.0+local.1"),
        ("uvx", "mine@1.x", "mine@1.2.3"),
        ("uvx", "mine@latest", "mine@1.2.3"),
        ("uvx", "mine>=1.0", "mine==1.2.3"),
        ("uvx", "mine[acp]~=1.0", "mine[acp]==1.2.3"),
        ("uvx", "mine==1.2.4", "mine==1.2.4"),
    ],
)
def test_a_tag_or_a_range_is_no_version(runner: str, package: str, expected: str):
    """What it names would be another program tomorrow than the one that was said yes to."""
    [found] = read_entries(listed(entry(distribution={runner: {"package": package}})))
    assert found.packages[0].package == expected


DECIDING = (
    "NODE_OPTIONS node_options LD_PRELOAD DYLD_INSERT_LIBRARIES PATH Path npm_config_registry NPM_CONFIG_prefix "
    "PYTHONPATH PYTHONSTARTUP BASH_ENV ENV GIT_SSH_COMMAND GIT_EXTERNAL_DIFF ZDOTDIR HOME UV_INDEX_URL HTTPS_PROXY "
    "COR_PROFILER_PATH CARGO_BUILD_RUSTC CC LDFLAGS MISE_CONFIG_FILE GTK_MODULES OPENAI_API_BASE AWS_CONFIG_FILE "
    "TMPDIR QWEN_CODE_SYSTEM_SETTINGS_PATH GEMINI_CLI_SYSTEM_DEFAULTS_PATH GUILE_LOAD_PATH R_PROFILE_USER SUDO_EDITOR "
    "CLOUDSDK_PYTHON RUSTUP_TOOLCHAIN NIX_LD ASAN_OPTIONS DBUS_SESSION_BUS_ADDRESS CLAUDE_CODE_SHELL "
    "CLAUDE_CODE_SHELL_PREFIX OPENCODE_CONFIG_CONTENT OPENCODE_PERMISSION GEMINI_SANDBOX SEATBELT_PROFILE "
    "GEMINI_YOLO_MODE TAR_OPTIONS FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS SVN_SSH GH_BROWSER CCACHE_PREFIX ANT_OPTS "
    "VIMRUNTIME IPYTHONDIR R_LIBS_USER"
)


@pytest.mark.parametrize("name", DECIDING.split())
@pytest.mark.parametrize("kind", ["npx", "uvx", "binary"])
def test_an_entry_whose_variables_decide_what_runs_is_left_out(name: str, kind: str):
    fields = {"package": "mine@1.2.3", "archive": "https://example.com/a.zip", "cmd": "./a", "env": {name: "x"}}
    distribution = {kind: {system(): fields} if kind == "binary" else fields}
    assert [each.id for each in read_entries(listed(entry("odd", distribution=distribution), entry()))] == ["mine"]


def test_a_question_shows_the_command_first_and_of_all_that_is_long_how_much_it_does_not_show():
    """A hundred arguments and variables of 4,000 characters push nothing else off the screen."""
    long = {"args": ["x" * 3900] * 100, "env": {f"A{at}": "y" * 3900 for at in range(100)}}
    archive = {"archive": f"https://example.com/{'z' * 3900}", "cmd": "./a", **long}
    for distribution in ({"npx": {"package": "mine", **long}}, {"binary": {system(): archive}}):
        [found] = read_entries(listed(entry(distribution=distribution)))
        words = has(plan(found)).words
        assert len(words) < 7000
        assert words.count("more characters are not shown") == (3 if "binary" in distribution else 2)
        assert "\n    A0=yyy" in words
        assert words.index("xxx") < words.index("A0=")
        if "npx" in distribution:
            assert words.index("mine@1.2.3") < words.index("xxx")


def test_an_agent_without_a_page_comes_from_the_host_of_its_archives():
    """Its archive for another system is not where it comes from here."""
    targets = {
        each: {"archive": f"https://get.example.com/{each}.zip", "cmd": "a"} for each in ("darwin-x86_64", system())
    }
    [found] = read_entries(listed(entry(repository=None, distribution={"binary": targets})))
    assert found.source == "get.example.com"
    [found] = read_entries(listed(entry(repository=None, website="https://example.com/page/")))
    assert found.source == "example.com/page"


def test_the_archive_of_this_system_is_taken_and_else_a_package():
    target = {"archive": "https://example.com/a.zip", "cmd": "./a"}
    both = {"binary": {"linux-x86_64": target, "windows-x86_64": target}, "uvx": {"package": "a"}}
    [found] = read_entries(listed(entry(distribution={**both, "npx": {"package": "a"}})))

    def kind(on: str, *there: str) -> str:
        made = plan(found, there, on)
        return "none" if made is None else made.runner or "archive"

    assert kind("linux-x86_64") == kind("windows-x86_64") == kind("windows-aarch64") == "archive"
    assert kind("darwin-x86_64", "npx", "uvx") == kind("linux-aarch64") == "npx"
    assert kind("linux-aarch64", "uvx") == "uvx"
    [alone] = read_entries(listed(entry(distribution={"binary": {"linux-x86_64": target}})))
    assert plan(alone, on="darwin-aarch64") is None


@pytest.mark.parametrize(
    ("name", "machine", "expected"),
    [
        ("linux", "x86_64", "linux-x86_64"),
        ("linux", "aarch64", "linux-aarch64"),
        ("darwin", "arm64", "darwin-aarch64"),
        ("darwin", "x86_64", "darwin-x86_64"),
        ("win32", "AMD64", "windows-x86_64"),
        ("win32", "ARM64", "windows-aarch64"),
        ("linux", "riscv64", ""),
        ("freebsd14", "amd64", ""),
    ],
)
def test_a_system_has_the_name_of_the_registry(name: str, machine: str, expected: str):
    assert system(name, machine) == expected


def test_a_later_version_is_an_update():
    assert is_newer("1.10.0", "1.9.3")
    assert is_newer("2.0.0", "2.0.0-rc.1")
    assert not is_newer("1.9.3", "1.10.0")
    assert not is_newer("1.0.0", "1.0.0")


@pytest.mark.skipif(os.name == "nt", reason="the program is a script of a shell")
@pytest.mark.parametrize("form", ["zip", "gz", "bz2", "xz", "plain", "program"])
async def test_an_archive_is_unpacked_and_its_program_runs(place: Place, form: str):
    members = {"./bin/agent": PROGRAM, "lib/text.txt": b"text"}
    # A zip file that was made on Windows says nothing of what can be run.
    data = zipped({"bin/agent": PROGRAM, "lib/text.txt": b"text"}) if form == "zip" else PROGRAM
    if form not in {"zip", "program"}:
        data = tar(members, "" if form == "plain" else form)
    place.serve(from_archive(place.served.put("/a", data), data))
    command = await place.install()
    program, *arguments = command.command
    assert (arguments, command.environment) == (["acp"], {"MODE": "acp"})
    assert Path(program) == place.home / "data" / "agents" / "mine" / "1.2.3" / "bin" / "agent"
    assert ran([program], {}).stdout == "it runs\n"
    if form != "program":
        assert stat.S_IMODE((place.home / "data/agents/mine/1.2.3/lib/text.txt").stat().st_mode) & 0o111 == 0
    assert os.listdir(place.home / "data" / "agents" / "mine") == ["1.2.3"]


async def test_an_archive_with_another_checksum_is_refused_and_the_one_before_stays(place: Place):
    good = tar({"bin/agent": PROGRAM})
    place.serve(from_archive(place.served.put("/a", good), good))
    await place.install()
    place.served.put("/a", tar({"bin/agent": b"#!/bin/sh\necho evil\n"}))
    with pytest.raises(ArchiveError, match="SHA-256"):
        await place.install()
    folder = place.home / "data" / "agents" / "mine"
    assert os.listdir(folder) == ["1.2.3"]
    assert (folder / "1.2.3" / "bin" / "agent").read_bytes() == PROGRAM


async def test_an_update_leaves_the_version_that_may_run_and_removes_the_others(place: Place):
    data = tar({"bin/agent": PROGRAM})
    address = place.served.put("/a", data)
    before = ""
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        place.serve(from_archive(address, version=version))
        plan = (await place.look(anew=True)).plans["mine"]
        await place.registry.install(plan, WindowId(1), before)
        before = plan.folder
    folder = place.home / "data" / "agents" / "mine"
    assert sorted(os.listdir(folder)) == ["1.1.0", "1.2.0"]
    await place.registry.remove("mine")
    assert not folder.exists()
    await place.registry.remove("mine")


async def test_an_update_leaves_each_version_that_runs(place: Place):
    """A chat may be open for longer than the next two versions take to come."""
    address = place.served.put("/a", tar({"bin/agent": PROGRAM}))
    before = ""
    for version in ("1.0.0", "1.1.0", "1.2.0", "1.3.0"):
        place.serve(from_archive(address, version=version))
        plan = (await place.look(anew=True)).plans["mine"]
        place.at_work = place.at_work or [plan.command[0], "/usr/bin/another"]
        await place.registry.install(plan, WindowId(1), before)
        before = plan.folder
    assert sorted(os.listdir(place.home / "data" / "agents" / "mine")) == ["1.0.0", "1.2.0", "1.3.0"]


async def test_the_version_that_may_run_stays_however_its_folder_is_spelled(place: Place):
    """On Windows and macOS `1.0.0-RC` is `1.0.0-rc`, and a folder above it may have a short name."""
    address = place.served.put("/a", tar({"bin/agent": PROGRAM}))
    for version in ("1.0.0-rc", "1.1.0"):
        place.serve(from_archive(address, version=version))
        plan = (await place.look(anew=True)).plans["mine"]
        await place.registry.install(plan, WindowId(1), str(place.home / "DATA~1" / "mine" / "1.0.0-RC"))
    assert sorted(os.listdir(place.home / "data" / "agents" / "mine")) == ["1.0.0-rc", "1.1.0"]


@pytest.mark.parametrize("trouble", ["missing", "short", "elsewhere", "no program"])
async def test_an_archive_that_can_not_be_had_leaves_nothing(place: Place, trouble: str):
    data = tar({"bin/other" if trouble == "no program" else "bin/agent": PROGRAM})
    place.serve(from_archive(place.served.put("/a", data)))
    if trouble == "missing":
        del place.served.pages["/a"]
    elif trouble == "short":
        place.served.short.add("/a")
    elif trouble == "elsewhere":
        place.served.redirects["/a"] = "http://example.invalid/a"
    with pytest.raises((DownloadError, ArchiveError)):
        await place.install()
    assert os.listdir(place.home / "data" / "agents" / "mine") == []


async def test_a_full_disk_is_no_fault_of_the_server(place: Place, monkeypatch: pytest.MonkeyPatch):
    class Full(io.BytesIO):
        def write(self, data: object, /) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    place.serve(from_archive(place.served.put("/agent.tgz", tar({"bin/agent": PROGRAM}))))
    wanted = await place.plan()
    monkeypatch.setattr(module, "open", lambda *_: Full(), raising=False)
    with pytest.raises(InstallError) as caught:
        await place.registry.install(wanted, WindowId(1))
    assert str(caught.value) == "Mine can't be installed: No space left on device."


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
async def test_a_link_in_place_of_the_folder_is_not_followed(place: Place):
    data = tar({"bin/agent": PROGRAM})
    place.serve(from_archive(place.served.put("/a", data)))
    (place.home / "data" / "agents").mkdir(parents=True)
    (place.home / "elsewhere").mkdir()
    (place.home / "elsewhere" / "mine").write_text("mine")
    (place.home / "data" / "agents" / "mine").symlink_to(place.home / "elsewhere")
    with pytest.raises(InstallError):
        await place.install()
    await place.registry.remove("mine")
    assert (place.home / "elsewhere" / "mine").read_text() == "mine"


async def test_two_installs_of_one_agent_at_once_are_refused(place: Place):
    data = tar({"bin/agent": PROGRAM})
    place.serve(from_archive(place.served.put("/a", data)))
    plan = await place.plan()
    with place.registry._working("mine"), pytest.raises(RegistryError, match="already"):
        await place.registry.install(plan, WindowId(1))


async def test_what_the_person_says_yes_to_has_the_command_and_the_archive(place: Place):
    data = tar({"bin/agent": PROGRAM})
    address = place.served.put("/a", data)
    place.serve(
        from_archive(address, data), entry("other", distribution={"uvx": {"package": "o", "env": {"A": "b c"}}})
    )
    words = (await place.plan()).words
    [_, checksum, folder, command, variables] = [line.strip() for line in words.splitlines() if line.startswith("    ")]
    plan = await place.plan()
    assert address in words
    assert checksum.endswith(plan.source.sha256)  # type: ignore[union-attr]
    assert (folder, command, variables) == (plan.folder, " ".join(plan.command), "MODE=acp")
    assert "    uvx o@1.2.3\n\nwith the variables\n\n    A='b c'" in (await place.plan("other")).words


NPM_AGENT = """#!/usr/bin/env node
console.log("the registry's", process.cwd(), process.argv.slice(2).join(" "))
"""


async def test_npx_runs_the_package_of_the_registry_whatever_the_project_has(place: Place, project: Path):
    """Npx prefers a package in `node_modules` of the folder that it is started in, and obeys its `.npmrc`."""
    npx = programs.find("npx", os.environ)
    if npx is None:
        pytest.fail("npx is missing: it comes with Node.js")
    described = {"name": "@some/mine", "version": "1.2.3", "bin": {"mine": "agent.js"}}
    files = {"package/package.json": json.dumps(described).encode(), "package/agent.js": NPM_AGENT.encode()}
    tarball = place.served.put("/mine.tgz", tar(files))
    versions = {"1.2.3": {**described, "dist": {"tarball": tarball}}}
    about = {"name": "@some/mine", "dist-tags": {"latest": "1.2.3"}, "versions": versions}
    place.served.put("/@some%2fmine", json.dumps(about).encode())
    own = project / "node_modules" / "@some" / "mine"
    own.mkdir(parents=True)
    (own / "package.json").write_text(json.dumps(described))
    (own / "agent.js").write_text(NPM_AGENT.replace("the registry's", "the project's"))
    (project / "package.json").write_text('{"name": "project", "dependencies": {"@some/mine": "1.2.3"}}')
    (project / ".npmrc").write_text("registry=http://127.0.0.1:1/\n")
    home = place.home / "own home"
    home.mkdir()
    (home / ".npmrc").write_text(f"registry={place.served.address}/\nupdate-notifier=false\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "USERPROFILE": str(home)}
    environment |= {name: os.environ[name] for name in ("SYSTEMROOT", "PATHEXT", "COMSPEC") if name in os.environ}

    real = os.path.realpath(project)
    place.serve(entry())
    place.environment = environment
    command = await place.install()
    words = programs.resolve(command.command, environment)
    assert words
    # It may have been cleared; a start makes it again.
    (place.home / "data" / "agents" / "no-project").rmdir()
    prepare(command.command)
    found = ran(words, environment, project)
    assert found.stdout.strip() == f"the registry's {real} --acp", found.stderr


async def test_only_a_runner_that_is_there_counts(place: Place):
    place.serve(entry(distribution={"npx": {"package": "a"}, "uvx": {"package": "b"}}))
    name = "uvx.exe" if sys.platform == "win32" else "uvx"
    path = place.home / "bin" / name
    path.parent.mkdir()
    path.write_bytes(PROGRAM)
    path.chmod(0o755)
    place.environment = {"PATH": str(path.parent)}
    listing = await place.look()
    source = listing.plans["mine"].source
    assert listing.there == ("uvx",)
    assert isinstance(source, PackageSource)
    assert source.runner == "uvx"
