"""Archives that are not what they should be: nothing of them is outside their folder, or left in it."""

from __future__ import annotations

import bz2
import contextlib
import copy
import gzip
import io
import lzma
import os
import stat
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from companion.registry import archives
from companion.registry.archives import unpack
from companion.registry.entries import ArchiveError

from .serving import PROGRAM, special, tar, zipped

SYMLINK = stat.S_IFLNK | 0o777


def refused(data: bytes, tmp_path: Path) -> str:
    """Why an archive is refused. Nothing may have been written outside its folder."""
    inside = tmp_path / "inside"
    inside.mkdir(exist_ok=True)
    (inside / "archive").write_bytes(data)
    before = sorted(path for path in tmp_path.rglob("*"))
    with pytest.raises(ArchiveError) as caught:
        unpack(str(inside / "archive"), str(inside / "to"), "agent")
    after = [path for path in tmp_path.rglob("*") if inside / "to" not in [path, *path.parents]]
    assert sorted(after) == before
    assert str(caught.value).endswith("Nothing was installed.")
    return str(caught.value)


BAD_NAMES = ["../evil", "a/../../evil", "/evil", "a\\..\\..\\evil", "C:/evil", "a\nb", "x" * 2000]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_leads_out_is_refused(name: str, tmp_path: Path):
    refused(tar({"agent": PROGRAM, name: b"evil"}), tmp_path)
    if "\n" not in name:
        (tmp_path / "second").mkdir()
        refused(zipped({"agent": PROGRAM, name: b"evil"}), tmp_path / "second")


@pytest.mark.parametrize(
    ("name", "same"), [("\u017f\u0323", "\u1e63"), ("\u017f\u030c", "\u0160"), ("\u1fbe\u0308\u0301", "\u0390")]
)
def test_two_spellings_of_one_name_on_macos_are_one_name(name: str, same: str, tmp_path: Path):
    """As APFS folds them, a long s is an s, also with an accent. So a link could stand behind an unseen link."""
    assert "twice" in refused(tar({"agent": PROGRAM, name: b"", same: b""}), tmp_path)
    (tmp_path / "second").mkdir()
    links = {name: special(tarfile.SYMTYPE, "."), f"{same}/evil": special(tarfile.SYMTYPE, "..")}
    assert "link" in refused(tar({"agent": PROGRAM, **links}), tmp_path / "second")


@pytest.mark.parametrize("name", ["nul", "a/CON.txt", "aux .txt", "com¹", "conin$", "a.", "a ", "dir:b", "a?"])
def test_a_name_that_means_something_else_on_windows_is_refused_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archives, "sys", SimpleNamespace(platform="win32"))
    assert "Windows" in refused(tar({"agent": PROGRAM, name: b"evil"}), tmp_path)


@pytest.mark.parametrize("target", ["/etc", "../..", "..", "a/../../..", "C:\\", "..\\..", "inner/../../x", ""])
def test_a_link_that_leads_out_is_refused(target: str, tmp_path: Path):
    if target != "..":  # that is the folder itself
        members: dict[str, bytes | tarfile.TarInfo] = {"agent": PROGRAM, "inner/link": special(tarfile.SYMTYPE, target)}
        if target != "inner/../../x":
            assert "link" in refused(tar(members), tmp_path)
    if target:
        (tmp_path / "second").mkdir()
        modes = {"link": SYMLINK}
        assert "link" in refused(zipped({"agent": PROGRAM, "link": target.encode()}, modes), tmp_path / "second")


def test_nothing_is_written_through_a_link(tmp_path: Path):
    link = special(tarfile.SYMTYPE, "inner")
    assert "behind a link" in refused(tar({"agent": PROGRAM, "link": link, "link/file": b"x"}), tmp_path)


def test_nothing_is_written_through_a_link_that_another_case_or_accent_names(tmp_path: Path):
    link = special(tarfile.SYMTYPE, "inner")
    assert "behind a link" in refused(tar({"agent": PROGRAM, "LIN\u00c9": link, "line\u0301/file": b"x"}), tmp_path)


@pytest.mark.parametrize(
    "targets",
    [
        {"first": "deep/er", "second": "first/../../out"},
        {"first": "deep", "second": "first/../out"},
        {"deep/first": "..", "second": "deep/first/../out"},
        {"first": "second", "second": "first"},
        {"first": "first/first"},
        {"one/a": "../two", "two": "three/../.."},
        {**{f"l{at}": f"l{at + 1}" for at in range(60)}, "l60": "agent"},
    ],
)
def test_a_link_that_may_lead_out_through_others_is_refused(targets: dict[str, str], tmp_path: Path):
    links = {name: special(tarfile.SYMTYPE, target) for name, target in targets.items()}
    assert "link" in refused(tar({"agent": PROGRAM, **links}), tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_through_links_are_looked_at_in_no_time(tmp_path: Path):
    """Each goes twice through the one before it."""
    links = {f"d/x{at}": special(tarfile.SYMTYPE, f"x{at - 1}/x{at - 1}") for at in range(1, 36)}
    data = tar({"agent": PROGRAM, "d/x0": special(tarfile.SYMTYPE, "."), **links})
    (tmp_path / "archive").write_bytes(data)
    unpack(str(tmp_path / "archive"), str(tmp_path / "to"), "agent")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("form", ["zip", "tar"])
def test_the_links_of_a_program_of_macos_stay(form: str, tmp_path: Path):
    """Its frameworks have links through the link to their current version."""
    at = "Agent.app/Contents/Frameworks/Core.framework"
    files = {"agent": PROGRAM, f"{at}/Versions/A/Core": b"code", f"{at}/Versions/A/Resources/x": b"x"}
    links = {
        f"{at}/Versions/Current": "A",
        f"{at}/Core": "Versions/Current/Core",
        f"{at}/Resources": "Versions/Current/Resources",
    }
    if form == "zip":
        data = zipped(files | {name: target.encode() for name, target in links.items()}, dict.fromkeys(links, SYMLINK))
    else:
        data = tar({**files, **{name: special(tarfile.SYMTYPE, target) for name, target in links.items()}})
    (tmp_path / "archive").write_bytes(data)
    unpack(str(tmp_path / "archive"), str(tmp_path / "to"), "agent")
    assert (tmp_path / "to" / at / "Core").read_bytes() == b"code"
    assert (tmp_path / "to" / at / "Resources" / "x").read_bytes() == b"x"
    assert os.readlink(tmp_path / "to" / at / "Core") == "Versions/Current/Core"


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, b"Z"])
def test_a_device_or_a_pipe_is_refused(kind: bytes, tmp_path: Path):
    data = tar({"agent": PROGRAM, "odd": special(kind)})
    if kind != tarfile.CONTTYPE:  # a file by an old name
        assert "no file" in refused(data, tmp_path)


def test_a_device_in_a_zip_is_refused(tmp_path: Path):
    assert "no file" in refused(zipped({"agent": PROGRAM, "odd": b""}, {"odd": stat.S_IFCHR | 0o666}), tmp_path)


@pytest.mark.parametrize("target", ["../outside", "/etc/passwd", "missing", "later"])
def test_another_name_of_what_is_not_in_the_archive_is_refused(target: str, tmp_path: Path):
    same = special(tarfile.LNKTYPE, target)
    refused(tar({"agent": PROGRAM, "same": same, "later": b"x"}), tmp_path)


def test_two_files_of_one_name_are_refused(tmp_path: Path):
    assert "twice" in refused(tar({"agent": PROGRAM, "a/File": b"1", "A/file": b"2"}), tmp_path)


def test_a_file_that_is_a_folder_as_well_is_refused(tmp_path: Path):
    refused(tar({"agent": PROGRAM, "agent/inner": b"2"}), tmp_path)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MOST_FILES", 20)
    many = {"agent": PROGRAM, **{f"f{at}": b"" for at in range(30)}}
    assert "more than 20 files" in refused(tar(dict(many)), tmp_path)
    (tmp_path / "second").mkdir()
    assert "more than 20 files" in refused(zipped(many), tmp_path / "second")


@pytest.mark.parametrize("form", ["gz", "bz2", "xz"])
def test_a_bomb_fills_neither_the_disk_nor_the_memory(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MOST_BYTES", 1024**2)
    assert "unpack" in refused(tar({"agent": PROGRAM, "large": bytes(5 * 1024**2)}, form), tmp_path)


def test_a_bomb_in_a_zip_that_lies_about_its_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MOST_BYTES", 1024**2)
    honest = zipped({"agent": PROGRAM, "large": bytes(5 * 1024**2)})
    assert "unpack" in refused(honest, tmp_path)
    size = (5 * 1024**2).to_bytes(4, "little")
    (tmp_path / "second").mkdir()
    refused(honest.replace(size, (10).to_bytes(4, "little")), tmp_path / "second")


def memory(data: bytes, tmp_path: Path) -> int:
    """The most bytes that a look at an archive and unpacking it take at once."""
    (tmp_path / "archive").write_bytes(data)
    tracemalloc.start()
    try:
        with contextlib.suppress(ArchiveError):
            unpack(str(tmp_path / "archive"), str(tmp_path / "to"), "agent")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_bomb_in_a_link_of_a_zip_that_lies_about_its_size_takes_no_memory(tmp_path: Path):
    size = 40 * 1024**2
    data = zipped({"agent": PROGRAM, "link": bytes(size)}, {"link": SYMLINK})
    forged = data.replace(size.to_bytes(4, "little"), (5).to_bytes(4, "little"))
    assert memory(forged, tmp_path) < 8 * 1024**2
    (tmp_path / "second").mkdir()
    assert "damaged" in refused(forged, tmp_path / "second")


@pytest.mark.parametrize("word", ["uname", "gname", "linkpath"])
def test_what_a_tar_file_says_about_its_members_is_not_kept(word: str, tmp_path: Path):
    """Each member may say a megabyte, and nothing unpacks to so little as that."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for at in range(30):
            info = tarfile.TarInfo(f"file{at}")
            info.pax_headers = {word: "x" * 1000_000}
            archive.addfile(info)
    assert memory(made.getvalue(), tmp_path) < 15 * 1024**2


def test_a_tar_file_that_says_too_much_about_a_member_is_refused(tmp_path: Path):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("agent")
        info.pax_headers = {"comment": "x" * 3 * 1024**2}
        archive.addfile(info, io.BytesIO(b""))
    assert "too many headers" in refused(made.getvalue(), tmp_path)


@pytest.mark.parametrize("size", ["-1500", str(10**15)])
def test_a_tar_file_with_a_size_that_no_file_has_is_refused(size: str, tmp_path: Path):
    info = tarfile.TarInfo("agent")
    info.pax_headers = {"size": size}
    # Python 3.14 reads a negative size as the end of the archive.
    why = refused(info.tobuf(tarfile.PAX_FORMAT) + PROGRAM.ljust(512, b"\0"), tmp_path)
    assert "damaged" in why or "no program agent" in why


def test_a_zip_with_a_directory_at_a_place_that_no_file_has_is_refused(tmp_path: Path):
    data = bytearray(zipped({"agent": PROGRAM}))
    at = data.rfind(b"PK\x05\x06")
    data[at + 16 : at + 20] = b"\xf0\xff\xff\xff"
    assert "damaged" in refused(bytes(data), tmp_path)


def test_a_zip_with_a_directory_of_another_size_is_refused(tmp_path: Path):
    data = bytearray(zipped({"agent": PROGRAM}))
    at = data.rfind(b"PK\x05\x06")
    data[at + 10 : at + 12] = b"\xff\xff"
    assert "files" in refused(bytes(data), tmp_path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x1f\x8bno", b"BZhno", b"\xfd7zXZ\0no", b"no archive at all"])
def test_what_is_damaged_is_said(data: bytes, tmp_path: Path):
    refused(data, tmp_path)


def test_an_archive_that_ends_too_early_is_refused(tmp_path: Path):
    whole = tar({"agent": PROGRAM, "large": os.urandom(50_000)})
    refused(whole[: len(whole) // 2], tmp_path)
    (tmp_path / "second").mkdir()
    refused(gzip.compress(gzip.decompress(whole)[:20_000]), tmp_path / "second")
    (tmp_path / "third").mkdir()
    inside = zipped({"agent": PROGRAM, "large": os.urandom(50_000)})
    refused(inside[: len(inside) // 2], tmp_path / "third")


def test_an_encrypted_zip_is_refused(tmp_path: Path):
    data = bytearray(zipped({"agent": PROGRAM}))
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data[data.find(mark) + offset] |= 1
    assert "encrypted" in refused(bytes(data), tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_inside_the_folder_stay(tmp_path: Path):
    members: dict[str, bytes | tarfile.TarInfo] = {
        "./": special(tarfile.DIRTYPE),
        "bin": special(tarfile.DIRTYPE),
        "lib/real.js": PROGRAM,
        "lib/also.js": special(tarfile.SYMTYPE, "real.js"),
        "bin/tool": special(tarfile.SYMTYPE, "../lib/also.js"),
        "same.js": special(tarfile.LNKTYPE, "lib/real.js"),
        "agent": special(tarfile.SYMTYPE, "./lib/real.js"),
    }
    (tmp_path / "archive").write_bytes(tar(members))
    unpack(str(tmp_path / "archive"), str(tmp_path / "to"), "agent")
    for name in ("agent", "bin/tool", "same.js"):
        assert (tmp_path / "to" / name).read_bytes() == PROGRAM
    assert os.access(tmp_path / "to" / "agent", os.X_OK)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("real", PROGRAM)
        info = zipfile.ZipInfo("agent")
        info.external_attr = SYMLINK << 16
        archive.writestr(info, "real")
    (tmp_path / "archive").write_bytes(data.getvalue())
    unpack(str(tmp_path / "archive"), str(tmp_path / "zip"), "agent")
    assert (tmp_path / "zip" / "agent").read_bytes() == PROGRAM


def test_a_program_is_never_set_to_another_user(tmp_path: Path):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        info = tarfile.TarInfo("agent")
        info.size, info.mode = len(PROGRAM), 0o6777
        archive.addfile(info, io.BytesIO(PROGRAM))
    (tmp_path / "archive").write_bytes(made.getvalue())
    unpack(str(tmp_path / "archive"), str(tmp_path / "to"), "agent")
    assert stat.S_IMODE((tmp_path / "to" / "agent").stat().st_mode) & 0o6022 == 0


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf\x00e", b"\xe2\x80\xaegpj.exe", b"a\x1b[2J"])
def test_a_name_in_another_encoding_or_with_hidden_characters_is_refused_in_plain_words(name: bytes, tmp_path: Path):
    data = gzip.decompress(tar({"agent": PROGRAM, "x" * len(name): b"odd"}))
    changed = bytearray(data.replace(b"x" * len(name), name))
    at = changed.index(name)
    header = bytes(changed[at : at + 512])
    total = sum(header[:148]) + 8 * 32 + sum(header[156:])
    changed[at + 148 : at + 156] = b"%06o\0 " % total
    if b"\0" in name:  # a name ends there
        (tmp_path / "archive").write_bytes(changed)
        unpack(str(tmp_path / "archive"), str(tmp_path / "to"), "agent")
        assert sorted(os.listdir(tmp_path / "to")) == ["agent", "caf"]
    else:
        assert refused(bytes(changed), tmp_path).isprintable()


def raw_xz(dictionary: int, data: bytes) -> bytes:
    """An xz stream that says that it needs a dictionary of that size."""
    made = bytearray(lzma.compress(data, check=lzma.CHECK_NONE, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 4096}]))
    # The block's header: its size, its flags, the filter's id, the size of its properties, the dictionary, 0, CRC32.
    at = 12
    size = (made[at] + 1) * 4
    made[at + 4] = next(code for code in range(40) if (2 | code & 1) << (code // 2 + 11) >= dictionary)
    made[at + size - 4 : at + size] = zlib.crc32(made[at : at + size - 4]).to_bytes(4, "little")
    return bytes(made)


def test_each_stream_of_an_xz_file_has_a_limit_of_memory(tmp_path: Path):
    whole = gzip.decompress(tar({"agent": PROGRAM}))
    halves = whole[:5000], whole[5000:]
    data = lzma.compress(halves[0]) + bytes(8) + lzma.compress(halves[1]) + bytes(4)
    (tmp_path / "archive").write_bytes(data)
    unpack(str(tmp_path / "archive"), str(tmp_path / "to"), "agent")
    assert (tmp_path / "to" / "agent").read_bytes() == PROGRAM
    for number, stream in enumerate((raw_xz(1024**3, halves[1]), lzma.compress(halves[1], lzma.FORMAT_ALONE))):
        (tmp_path / str(number)).mkdir()
        assert "damaged" in refused(lzma.compress(halves[0]) + stream, tmp_path / str(number))
    (tmp_path / "end").mkdir()
    assert "early" in refused(data[:-20], tmp_path / "end")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bz2", "xz"])
def test_a_compressed_file_of_too_many_streams_is_refused(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archives, "_MOST_STREAMS", 20)
    assert "too many parts" in refused(pack(b"") * 30, tmp_path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bz2", "xz"])
def test_a_compressed_file_of_several_streams_is_unpacked_as_one(pack: Callable[[bytes], bytes], tmp_path: Path):
    """As `pigz` and `pbzip2` make them; and one that ends in the middle is damaged."""
    whole = gzip.decompress(tar({"agent": PROGRAM, "large": os.urandom(3 * 1024**2)}))
    data = b"".join(pack(whole[at : at + 700_000]) for at in range(0, len(whole), 700_000)) + bytes(8)
    (tmp_path / "archive").write_bytes(data)
    unpack(str(tmp_path / "archive"), str(tmp_path / "to"), "agent")
    assert (tmp_path / "to" / "agent").read_bytes() == PROGRAM
    (tmp_path / "end").mkdir()
    assert "early" in refused(data[:-30], tmp_path / "end")


def test_a_bomb_in_the_second_member_of_a_compressed_file_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MOST_BYTES", 1024**2)
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        (tmp_path / pack.__module__).mkdir()
        assert "unpack" in refused(pack(b"a") + pack(bytes(5 * 1024**2)), tmp_path / pack.__module__)


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_would_be_unpacked_in_pieces_of_any_size_is_refused(kind: int, tmp_path: Path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", kind) as archive:
        archive.writestr("agent", PROGRAM)
    assert "not supported" in refused(data.getvalue(), tmp_path)


def forged(files: Mapping[str, bytes], count: int, place: str) -> bytes:
    """A zip file with two end records, of which one says that there is one file."""
    data = zipped(dict(files))
    at = data.rfind(b"PK\x05\x06")
    end = bytearray(data[at:])
    end[8:12] = count.to_bytes(2, "little") * 2
    if place == "comment":  # the last one counts for who looks from the end
        end[20:22] = (22).to_bytes(2, "little")
        return data[:at] + bytes(end) + data[at:]
    if place == "inside":  # the mark stands in the record itself
        end[4:8] = b"PK\x05\x06"
        return data[:at] + bytes(end)
    return data[:at] + bytes(end) + b"behind it"


@pytest.mark.parametrize("place", ["comment", "inside", "behind"])
def test_a_zip_with_a_forged_end_is_refused(place: str, tmp_path: Path):
    assert "damaged" in refused(forged({"agent": PROGRAM, "b": b"", "c": b""}, 1, place), tmp_path)


@pytest.mark.parametrize("place", ["comment", "inside", "behind"])
def test_the_list_of_a_zip_is_bounded_whatever_its_ends_say(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archives, "MOST_FILES", 20)
    monkeypatch.setattr(archives, "_LARGEST_LIST", 4000)
    data = forged({"agent": PROGRAM, **{f"f{at}": b"" for at in range(100)}}, 1, place)
    made: list[str] = []

    def counted(*names: Any) -> None:
        made.append(names[0])
        raise AssertionError

    monkeypatch.setattr(zipfile, "ZipInfo", counted)
    assert "20 files" in refused(data, tmp_path)
    assert not made


def test_files_of_a_zip_that_overlap_are_refused(tmp_path: Path):
    """Each entry of the list leads to the same file."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("agent", os.urandom(5000))
        first = archive.filelist[0]
        for number in range(50):
            other = copy.copy(first)
            other.filename = other.orig_filename = f"other{number}"
            archive.filelist.append(other)
    refused(data.getvalue(), tmp_path)


def test_a_size_that_a_header_before_it_changes_hides_no_header(tmp_path: Path):
    """A tar file that is read in one way when it is looked at, and in another when it is unpacked."""
    hidden = io.BytesIO()
    with tarfile.open(fileobj=hidden, mode="w:", format=tarfile.GNU_FORMAT) as archive:
        info = tarfile.TarInfo("././@LongLink")
        info.type, info.size = tarfile.GNUTYPE_LONGNAME, 3 * 1024**2
        archive.addfile(info, io.BytesIO(b"x" * info.size))
    inner = hidden.getvalue()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("agent")
        info.size, info.pax_headers = len(inner), {"size": "0"}
        archive.addfile(info, io.BytesIO(inner))
    assert "too many headers" in refused(made.getvalue(), tmp_path)


def test_words_about_all_members_of_a_tar_file_are_few(tmp_path: Path):
    """Each member gets a copy of them."""
    made = io.BytesIO()
    words = {f"k{at}": "" for at in range(2000)}
    with tarfile.open(fileobj=made, mode="w:", format=tarfile.PAX_FORMAT, pax_headers=words) as archive:
        archive.addfile(tarfile.TarInfo("agent"))
    assert "headers for all" in refused(made.getvalue(), tmp_path)


def test_names_in_too_many_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert "too many folders" in refused(tar({"agent": PROGRAM, "a/" * 100 + "b": b""}), tmp_path)
    monkeypatch.setattr(archives, "MOST_FILES", 20)
    (tmp_path / "second").mkdir()
    names = ["/".join(f"{file}{depth}" for depth in range(10)) for file in range(5)]
    assert "20 folders" in refused(tar({"agent": PROGRAM, **dict.fromkeys(names, b"")}), tmp_path / "second")
    (tmp_path / "third").mkdir()
    link = special(tarfile.SYMTYPE, "a/" * 100)
    assert "too many folders" in refused(tar({"agent": PROGRAM, "link": link}), tmp_path / "third")


def test_links_whose_ways_grow_through_others_are_refused(tmp_path: Path):
    """Each leads deeper than the one before it: to follow 200 of them took 20 seconds, and 5,000 are allowed."""
    links = {f"l{at}": special(tarfile.SYMTYPE, f"l{at - 1}/" + "a/" * 20) for at in range(1, 20)}
    links["l0"] = special(tarfile.SYMTYPE, "a")
    assert "too many folders" in refused(tar({"agent": PROGRAM, **links}), tmp_path)


def test_too_many_links_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "_MOST_LINKED", 20)
    links = {f"l{at}": special(tarfile.SYMTYPE, "agent") for at in range(30)}
    assert "20 links" in refused(tar({"agent": PROGRAM, **links}), tmp_path)
