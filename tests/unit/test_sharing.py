"""What a CLI and a chat may learn of the person's files."""

from __future__ import annotations

import os
import re
import unicodedata
from fnmatch import translate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion import exclusion
from companion.exclusion import DEFAULT_EXCLUDE, LEVELS, Sharing, read_globs, stricter
from companion.settings import FILE, Settings, overridden, read

DEFAULTS_TOO = "the default globs are used as well."


def excluded(glob: str, path: str, *folders: str) -> bool:
    return Sharing(exclude=(glob,)).is_excluded(path, folders)


@pytest.mark.parametrize(
    "path",
    [
        "/a/.env",
        "/.env",
        ".env",
        "/a/b/key.pem",
        "/a/secrets/b/c.txt",
        "/a/secrets",
        "/a/.ENV",
        "/a/.env.production",
        "/a/.envrc",
        "/a/Key.PEM",
        "/x.pem/a",
    ],
)
def test_the_default_globs_match_keys_wherever_they_are_and_however_they_are_written(path: str):
    assert Sharing().is_excluded(path)


@pytest.mark.parametrize("path", ["/a/env", "/a/pem", "/a/pem.txt", "/a/my-secrets/b", "/a/b.py"])
def test_the_default_globs_match_nothing_else(path: str):
    assert not Sharing().is_excluded(path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.key", "/a/b.key"),
        ("id_?", "/a/id_1"),
        ("[abc].txt", "/a/b.txt"),
        ("[!abc].txt", "/a/d.txt"),
        ("private/", "/a/private/b/c.txt"),
        ("a/*/c", "/x/a/b/c/d"),
        ("a/**/c", "/x/a/c"),
        ("a/**/c", "/x/a/1/2/c"),
        ("**/x", "/a/b/x"),
        ("**", "/a"),
        ("*", "/a"),
        ("./a", "/x/a"),
        ("../secret/*", "/x/secret/a"),
        (r"private\*.txt", "/x/private/a.txt"),
        ("private/*.txt", r"C:\x\Private\A.TXT"),
        ("[[]x]", "/a/[x]"),
        ("[{]x", "/a/{x"),
        ("C:/keys/*", r"c:\keys\a"),
        ("gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n", unicodedata.normalize("NFD", "/a/gr\u00fcn")),
    ],
)
def test_a_glob_matches_names_and_everything_in_a_folder_that_it_matches(glob: str, path: str):
    assert excluded(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.key", "/a/b.keys"),
        ("id_?", "/a/id_12"),
        ("a/*/c", "/a/c"),
        ("a/c", "/a/b/c"),
        ("[!abc].txt", "/a/b.txt"),
        ("private/*.txt", "/private/a/b.txt"),
        ("/etc/*", "/a/etc/b"),
    ],
)
def test_a_star_stays_within_a_name(glob: str, path: str):
    assert not excluded(glob, path)


def test_a_leading_slash_means_a_folder_of_the_window_or_a_whole_path():
    assert excluded("/build/*.txt", "/home/app/build/a.txt", "/home/app")
    assert excluded("/build/*.txt", "/home/app/build/a.txt", "/other", "/home/app/")
    assert excluded("/home/app/build", "/home/app/build/a.txt")
    assert not excluded("/build/*.txt", "/home/app/deep/build/a.txt", "/home/app")
    assert not excluded("/build/*.txt", "/home/app/build/a.txt")
    assert excluded("/build", "/a.txt/build", "/a.txt")
    assert excluded("/a.txt", "/a.txt", "/")


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    home = tmp_path / "[me]*"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    assert excluded("~/.ssh", str(home / ".ssh" / "id"))
    assert not excluded("~/.ssh", str(tmp_path / "other" / ".ssh" / "id"))
    assert not excluded("~x/.ssh", str(home / ".ssh" / "id"))


@pytest.mark.parametrize("is_named_by_its_link", [True, False])
def test_a_tilde_is_the_home_folder_also_behind_a_link(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_named_by_its_link: bool
):
    """As where /home leads to /var/home: a window may have its folders by either path, and snapshots have real ones."""
    real, link = Path(os.path.realpath(tmp_path)) / "var", tmp_path / "link"
    (real / "me" / "kept").mkdir(parents=True)
    link.symlink_to(real)
    home = (link if is_named_by_its_link else real) / "me"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    sharing = Sharing(exclude=(f"~/kept/{is_named_by_its_link}*",))
    for folder in (real, link):
        assert sharing.is_excluded(str(folder / "me" / "kept" / f"{is_named_by_its_link}.txt"))
        assert not sharing.is_excluded(str(folder / "me" / "other" / f"{is_named_by_its_link}.txt"))
    path = f"kept/{is_named_by_its_link}.txt"
    assert sharing.leaves_out(str(real / "me" / path))
    assert path in sharing.suspects(str(real / "me"), [path, "other.txt"])


def test_a_link_is_excluded_by_its_own_name_and_by_that_of_the_file_it_leads_to(tmp_path: Path):
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for name in ("secrets/real", "plain.txt"):
        (tmp_path / name).touch()
    (tmp_path / "notes.txt").symlink_to(secrets / "real")
    (tmp_path / ".env").symlink_to(tmp_path / "plain.txt")
    (tmp_path / "docs").symlink_to(secrets)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    sharing = Sharing()
    assert sharing.is_excluded(str(tmp_path / "notes.txt"))
    assert sharing.is_excluded(str(tmp_path / ".env"))
    assert sharing.is_excluded(str(tmp_path / "docs" / "real"))
    assert sharing.is_excluded(f"{tmp_path}/a/../.env")
    assert not sharing.is_excluded(str(tmp_path / "plain.txt"))
    assert not sharing.is_excluded(str(tmp_path / "loop"))


def test_where_links_lead_may_be_known_already():
    """Then nothing is read from the disk."""
    known = {"/a/b.txt": "/x/secrets/b.txt", "/a/c.txt": "/real/c.txt", "/link": "/real"}
    assert Sharing().is_excluded("/a/b.txt", real=known.__getitem__)
    assert not Sharing().is_excluded("/a/c.txt", real=known.__getitem__)
    assert Sharing(exclude=("/c.txt",)).is_excluded("/a/c.txt", ["/link"], real=known.__getitem__)
    assert Sharing().refusal(["/a/c.txt", "/a/b.txt"], real=known.__getitem__)


def test_a_path_that_no_disk_can_have_is_looked_at_by_its_name():
    assert Sharing().is_excluded("/a\0b/.env")
    assert not Sharing().is_excluded("/a\0b/c")


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        (".env", "/a/.env::$DATA"),
        (".env", r"C:\a\.env::$DATA"),
        (".env", r"C:\a\.env:Zone.Identifier"),
        (".env", "C:.env"),
        (".env", "/a/.env."),
        (".env", "/a/.env . ."),
        ("*.pem", "/a/key.pem "),
        ("secrets/**", "/a/secrets. /b"),
        ("secrets/**", r"\\?\C:\a\secrets::$INDEX_ALLOCATION\b"),
    ],
)
def test_what_windows_ignores_in_a_name_hides_no_file(glob: str, path: str):
    """A folder may be on a disk that a Windows machine shares, so everywhere."""
    assert excluded(glob, path)


@pytest.mark.parametrize("path", ["/a/x.env:.txt", "/a/.. /b", "/a/...", r"C:\a\b.txt", "/a/:b", "/a/: "])
def test_a_name_that_only_looks_like_one_of_these_is_none(path: str):
    assert not excluded(".env", path)


def test_a_short_name_of_windows_that_leads_to_no_file_is_excluded():
    """Nobody can tell which long name it stands for."""
    sharing = Sharing(exclude=("*.pem",))
    for name in ("SECRET~1.PEM", "ENV~1", "PRIVAT~2.TXT", "AB~12"):
        assert sharing.is_excluded(f"/a/{name}/b", windows=True)
        assert not sharing.is_excluded(f"/a/{name.partition('.')[0]}/b", windows=False)
    for name in ("notes~1~", "a-long-name~1.txt", "x~.txt", "~1", "a.b~1"):
        assert not sharing.is_excluded(f"/a/{name}", windows=True)
    assert not Sharing(exclude=()).is_excluded("/a/ENV~1", windows=True)


def test_an_empty_list_excludes_nothing():
    assert not Sharing(exclude=()).is_excluded("/a/.env")
    assert Sharing(exclude=()).refusal(["/a/.env"]) is None


def test_a_refusal_names_the_file_and_the_setting():
    why = "key.pem stays here: the setting “context_exclude” excludes it."
    assert Sharing().refusal(["/a/b.txt", "/a/key.pem/"]) == why
    assert Sharing().refusal(["/a/b.txt"]) is None


def test_a_hostile_glob_takes_no_time():
    """A project that somebody else has made has globs too. Exponential time would never end."""
    assert not excluded("*a" * 40 + "b", "/" + "a" * 200)
    assert not excluded("**/a/" * 40 + "b", "/a" * 400)


def test_globs_of_many_names_take_no_time_on_a_path_of_many_names():
    """A file that deep can be cloned, and an agent may ask for any: 5,000,000 places to look at, several times over."""
    path = "/" + "/".join("a" * 2000)
    globs = [f"{'*/' * 248}b{number}" for number in range(99)] + [f"{'**/*/' * 98}c"]
    sharing = Sharing(exclude=read_globs(globs)[0])
    assert len(sharing.exclude) == 100
    assert not sharing.is_excluded(path)
    assert not sharing.leaves_out(path)
    assert sharing.is_excluded(f"{path}/b98")
    assert sharing.leaves_out(f"{path}/b98")


@given(st.lists(st.text(max_size=12), max_size=4), st.text(st.characters(exclude_characters="\0"), max_size=20))
def test_no_glob_and_no_path_is_an_error(globs: list[str], path: str):
    sharing = Sharing(exclude=read_globs(globs)[0])
    assert sharing.is_excluded(path, ["/a"]) in (True, False)


@given(st.text(st.characters(codec="ascii", exclude_characters="/\\\0.~"), min_size=1, max_size=12))
def test_a_glob_that_is_escaped_matches_its_own_name(name: str):
    escaped = "".join(f"[{each}]" if each in "*?[{" else each for each in name)
    usable, wrong = read_globs([escaped])
    if wrong:  # a blank name, or a beginning that would bring files back
        assert not name.strip() or name.strip().startswith("!")
    else:
        assert Sharing(exclude=usable).is_excluded(f"/a/{name.strip()}/b")


@pytest.mark.parametrize(
    ("glob", "used", "matches"),
    [
        ("*.key[", "*.key*", "/a/b.keys"),
        ("[abc", "*", "/a"),
        ("*.{pem,key}", "*.*", "/a/b.key"),
        ("private[z-a]/x", "private*/x", "/a/privateb/x"),
        ("a[]", "a*", "/ab"),
        ("a[!]", "a*", "/ab"),
    ],
)
def test_what_cannot_be_read_of_a_glob_stands_for_anything(glob: str, used: str, matches: str):
    """Bad input: one sentence, and the stricter behaviour."""
    usable, wrong = read_globs(["*.mine", glob])
    assert wrong == [f"“context_exclude” holds “{glob}”, which is not a glob; “{used}” is used instead."]
    assert usable == ("*.mine", used, *DEFAULT_EXCLUDE)
    assert Sharing(exclude=usable).is_excluded(matches)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (["*.mine", ""], f"“context_exclude” holds “”, which is not a glob; {DEFAULTS_TOO}"),
        (
            ["*.mine", 7],
            f"“context_exclude” holds something other than a string, which is not a glob; {DEFAULTS_TOO}",
        ),
        (
            ["*.mine", "!.env"],
            "“context_exclude” holds “!.env”, but no glob brings a file back; the default globs are used as well.",
        ),
        ("*.mine", "“context_exclude” must be a list of globs; the default globs are used as well."),
    ],
)
def test_a_glob_that_is_none_is_told_in_one_sentence_and_the_others_still_hold(value: object, why: str):
    assert read_globs(value) == (("*.mine", *DEFAULT_EXCLUDE), [why])


def test_globs_that_are_right_are_used_alone():
    assert read_globs(["*.a", "b/**", "[c]d"]) == (("*.a", "b/**", "[c]d"), [])
    assert read_globs([]) == ((), [])


# The settings


def test_the_person_sets_both():
    values = read({"context": "files", "context_exclude": ["*.mine"]}.get)
    assert values.problems == ()
    assert values.settings.sharing == Sharing("files", ("*.mine",))
    assert Settings().sharing == Sharing()


@pytest.mark.parametrize("value", ["none", "", 0, False, ["off"], "Off"])
def test_a_context_that_is_none_is_off(value: object):
    """Bad input: the stricter behaviour, not the default."""
    values = read({"context": value}.get)
    [problem] = values.problems
    assert str(problem).startswith(f"{FILE}: “context” must be “all”, “files” or “off”, not ")
    assert str(problem).endswith("; “off” is used.")
    assert values.settings.context == "off"
    in_project = overridden(read({}.get), {"context": value}, "a.sublime-project")
    assert [each.name for each in in_project.problems] == ["context"]
    assert in_project.settings.context == "off"


@pytest.mark.parametrize("user", LEVELS)
@pytest.mark.parametrize("project", LEVELS)
def test_a_project_makes_the_context_stricter_and_never_looser(user: str, project: str):
    values = overridden(read({"context": user}.get), {"context": project}, "a.sublime-project")
    assert values.settings.context == max(user, project, key=LEVELS.index)
    loosens = LEVELS.index(project) < LEVELS.index(user)
    why = f"“context” can only be made stricter by a project; “{user}” is used, not “{project}”."
    assert [str(problem) for problem in values.problems] == ([f"a.sublime-project: {why}"] if loosens else [])


@pytest.mark.parametrize("globs", [[], ["*.theirs"], [".env"], ["!.env"], [""], "x", None, {}])
def test_a_project_adds_globs_and_takes_none_away(globs: object):
    base = read({"context_exclude": [".env", "*.mine"]}.get)
    values = overridden(base, {"context_exclude": globs}, "a.sublime-project")
    assert values.settings.context_exclude[:2] == (".env", "*.mine")
    sharing = values.settings.sharing
    assert sharing.is_excluded("/a/.env")
    assert sharing.is_excluded("/a/b.mine")
    assert sharing.is_excluded("/a/b.theirs") == (globs == ["*.theirs"])
    is_right = isinstance(globs, list) and all(each and not each.startswith("!") for each in globs)
    assert len(values.problems) == (0 if is_right else 1)


def test_of_two_levels_the_stricter_one_tells_less():
    assert [stricter(one, other) for one in LEVELS for other in LEVELS] == [
        "all", "files", "off", "files", "files", "off", "off", "off", "off",
    ]  # fmt: skip
    assert [(Sharing(level).has_files, Sharing(level).has_text) for level in LEVELS] == [
        (True, True),
        (True, False),
        (False, False),
    ]


@pytest.mark.parametrize(
    ("sharing", "summary"),
    [
        (Sharing(), "names, cursor and selected text; never .env*, *.pem, secrets/**"),
        (Sharing("files", ("*.a",)), "names and cursor, no text; never *.a"),
        (Sharing("off", ()), "nothing"),
        (
            Sharing("all", tuple(map(str, range(12)))),
            "names, cursor and selected text; never 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …",
        ),
    ],
)
def test_the_status_report_says_what_is_told(sharing: Sharing, summary: str):
    assert sharing.summary == summary


def test_folders_are_compared_as_the_disk_does(tmp_path: Path):
    folder = tmp_path / "Work"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert excluded("/a.txt", os.path.join(folder, "a.txt"), str(link))
    assert excluded("/a.txt", os.path.join(link, "a.txt"), str(folder))
    assert excluded("/a.txt", str(folder / "a.txt"), str(folder).upper())


@pytest.mark.parametrize(
    "glob", [".env*", "*.pem", "secrets/**", "/secrets", "**/a/**/b", "**", "a/b", "/p/x/*.py", "~/x"]
)
@pytest.mark.parametrize(
    "path",
    ["/p/x/a.py", "/p/.env.local", "/p/secrets/key", "/p/a/c/b", "/p/A/B", "/p/secrets", "/secrets/a", "/p/x.pem/y"],
)
def test_a_path_alone_is_excluded_as_the_file_is(glob: str, path: str):
    sharing = Sharing(exclude=(glob,))
    is_excluded = sharing.is_excluded(path, ("/p",))
    assert sharing.leaves_out(path, ("/p",)) == is_excluded
    folder, _, name = path.rpartition("/")
    for root, below in (("/", path[1:]), (folder, name)):
        assert not is_excluded or below in sharing.suspects(root, ["x.txt", below, "y.txt"])


# Limits


def numbered(count: int) -> list[str]:
    return [f"/folder{number}/*a*b{number}" for number in range(count)]


def test_globs_are_compiled_once_and_not_for_each_path(monkeypatch: pytest.MonkeyPatch):
    compiled: list[str] = []

    def counted(name: str) -> str:
        compiled.append(name)
        return translate(name)

    monkeypatch.setattr(exclusion, "translate", counted)
    sharing = Sharing(exclude=(*numbered(1000), *(f"{glob}.project" for glob in numbered(1000))))
    for number in range(20):
        assert not sharing.is_excluded(f"/w/{number}", ["/w"])
        assert not sharing.leaves_out(f"/w/{number}", ["/w"])
    assert len(compiled) == len(set(compiled)) == 3000, "two names in each of 2,000 globs, 1,000 of them in two globs"


def test_no_pattern_ignores_the_case_of_a_class_by_going_through_its_characters(monkeypatch: pytest.MonkeyPatch):
    flags: list[object] = []
    compiled = re.compile
    monkeypatch.setattr(exclusion.re, "compile", lambda text, *more: flags.extend(more) or compiled(text))
    sharing = Sharing(exclude=("[A-Z\U00010400-\U0010ffff]x*", "STRASSE", "[!a]b"))
    assert sharing.is_excluded("/w/bX", ["/w"])
    assert sharing.is_excluded("/w/BX1", ["/w"])
    assert sharing.is_excluded("/w/straße", ["/w"])
    assert not sharing.is_excluded("/w/AB", ["/w"])
    assert flags == []


@pytest.mark.parametrize(
    ("globs", "why"),
    [
        (numbered(1001), "1,001 globs: use at most 1,000"),
        ([""] * 20_000, "20,000 globs: use at most 1,000"),
        (["!a"] * 20_000, "20,000 globs: use at most 1,000"),
        (["[" * 501], "a glob of 501 characters: use at most 500"),
        ("[!" * 500_000, "a glob of 1,000,000 characters: use at most 500"),
        (["*a" * 250] * 101, "globs of 50,500 characters: use at most 50,000"),
        (["[b-\U0010ffff]" * 20 + str(number) for number in range(11)], "220 classes of characters: use at most 200"),
    ],
)
def test_more_globs_than_can_be_used_exclude_everything_and_that_is_told_once(globs: object, why: str):
    base = read({"context_exclude": ["*.mine"]}.get)
    values = overridden(base, {"context_exclude": globs}, "a.sublime-project")
    assert [str(problem) for problem in values.problems] == [
        f"a.sublime-project: “context_exclude” has {why}. Until then, everything is excluded."
    ]
    for path in ("/", "/a", "a", r"C:\a\b", "/w/a/b.py"):
        assert values.settings.sharing.is_excluded(path, ["/w"])
    assert values.settings.sharing.leaves_out("/w/a", ["/w"])
    own = read({"context_exclude": globs}.get)
    assert len(own.problems) == 1
    assert own.settings.sharing.is_excluded("/a")


def test_each_source_may_have_as_many_globs_as_can_be_used():
    base = read({"context_exclude": numbered(1000)}.get)
    values = overridden(base, {"context_exclude": [f"{glob}.project" for glob in numbered(1000)]}, "a.sublime-project")
    assert len(values.settings.context_exclude) == 2000
    assert values.problems == base.problems == ()
    assert not values.settings.sharing.is_excluded("/w/a")


def test_a_leading_slash_means_each_folder_of_the_window_whoever_asks():
    sharing = Sharing(exclude=("/secret.txt",), folders=("/w/one", "/w/two"))
    assert sharing.is_excluded("/w/two/secret.txt", ["/w/one"])
    assert sharing.is_excluded("/w/one/secret.txt")
    assert sharing.leaves_out("/w/two/secret.txt")
    assert sharing.refusal(["/w/two/secret.txt"]) is not None
    assert not sharing.is_excluded("/w/three/secret.txt")
    assert sharing.is_excluded("/w/three/secret.txt", ["/w/three"])
