"""Fetches the wheels of the pinned libraries, and refuses what Package Control or the interpreter would choke on."""

from __future__ import annotations

import base64
import contextlib
import email
import email.message
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from . import ReleaseError
from .pins import PLATFORMS, PYTHON, Pin

FITS = {
    "linux-arm64": r"manylinux\w+_aarch64",
    "linux-x64": r"manylinux\w+_x86_64",
    "osx-arm64": r"macosx_\d+_\d+_(arm64|universal2)",
    "osx-x64": r"macosx_\d+_\d+_(x86_64|universal2)",
    "windows-arm64": r"win_arm64",
    "windows-x64": r"win_amd64",
}
"""Which tags of a wheel each platform may load."""
ABIS = frozenset({"none", "abi3", "cp314"})
"""Not cp314t, which is for an interpreter without the global lock."""
FETCH_LIMIT = 600
"""Seconds for one platform's wheels."""


@dataclass
class Wheel:
    """A wheel file and the platforms that it is for."""

    path: Path
    name: str
    version: str
    platforms: list[str] = field(default_factory=list)

    @property
    def sha256(self) -> str:
        """The digest of its bytes, in hex."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def metadata(self) -> email.message.Message:
        """Its METADATA."""
        with zipfile.ZipFile(self.path) as archive:
            (name,) = (name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
            return email.message_from_string(archive.read(name).decode())


def fetch(pins: Iterable[Pin], cache: Path) -> dict[str, list[Path]]:
    """The wheels for each platform, downloaded by pip from the index that it is set up with, or from the cache.

    Raises ReleaseError if there is none or if the network is away.
    """
    pins = list(pins)
    first, *others = PLATFORMS
    found = {first: _fetch(pins, first, cache)}
    pure = [path for path in found[first] if path.name.endswith("-none-any.whl")]
    for_all = {_parse(path)[0] for path in pure}
    native = [pin for pin in pins if pin.name not in for_all]
    for platform in others:
        found[platform] = sorted([*pure, *_fetch(native, platform, cache)], key=lambda path: path.name)
    return found


def _fetch(pins: list[Pin], platform: str, cache: Path) -> list[Path]:
    if not pins:
        return []
    lines = "".join(f"{pin.line}\n" for pin in pins)
    key = hashlib.sha256("\n".join([lines, platform, *PLATFORMS[platform]]).encode()).hexdigest()[:16]
    folder = cache / f"{platform}-{key}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
        try:
            _download(lines, platform, scratch)
            with contextlib.suppress(OSError):  # another build has been faster
                os.replace(scratch, folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return sorted(folder.glob("*.whl"))


def _download(lines: str, platform: str, into: Path) -> None:
    requirements = into / "requirements.txt"
    requirements.write_text(lines, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--require-hashes", "--python-version", PYTHON.replace(".", "")]
    command += ["--implementation", "cp", "--abi", "cp314", "--abi", "abi3", "--abi", "none"]
    command += [option for tag in PLATFORMS[platform] for option in ("--platform", tag)]
    try:
        run = subprocess.run(
            [*command, "--dest", into, "--requirement", requirements],
            capture_output=True,
            text=True,
            timeout=FETCH_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReleaseError(f"The wheels for {platform} did not arrive within {FETCH_LIMIT} seconds.") from None
    if run.returncode:
        said = [line.removeprefix("ERROR: ") for line in run.stderr.splitlines() if line.startswith("ERROR: ")]
        reason = said[-1].rstrip(".") if said else f"pip ended with {run.returncode}"
        raise ReleaseError(f"There is no wheel for {platform}, or no network: {reason}.")


def collect(found: Mapping[str, Iterable[Path]], pins: Iterable[Pin]) -> list[Wheel]:
    """The wheels by name, each file once with all of its platforms.

    Raises ReleaseError for a wheel that can't be used, a library that a platform lacks or has twice, and two libraries
    that would remove each other's files.
    """
    wheels: dict[str, Wheel] = {}
    for platform, paths in found.items():
        here: dict[str, Wheel] = {}
        owners: dict[str, str] = {}
        for path in paths:
            check(path, platform)
            name, version = _parse(path)
            if name in here:
                raise ReleaseError(
                    f"There are two releases of {name} for {platform}: {here[name].path.name}, {path.name}."
                )
            here[name] = wheels.setdefault(path.name, Wheel(path, name, version))
            here[name].platforms.append(platform)
            for top in top_level(path):
                if (other := owners.setdefault(top, name)) != name:
                    raise ReleaseError(
                        f"{other} and {name} both bring “{top}”, and Package Control would remove one's."
                    )
        for pin in pins:
            if pin.name not in here:
                raise ReleaseError(f"There is no release of {pin.name} for {platform}.")
            if here[pin.name].version != pin.version:
                raise ReleaseError(f"{here[pin.name].path.name} is not the pinned version, {pin.version}.")
    return sorted(wheels.values(), key=lambda wheel: (wheel.name, wheel.platforms))


def top_level(path: Path) -> set[str]:
    """The files and folders that a wheel brings, except its own dist-info."""
    with zipfile.ZipFile(path) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    return {top for top in tops if not top.endswith(".dist-info")}


def check(path: Path, platform: str) -> None:
    """Raise ReleaseError for a wheel that would not work on a platform once Package Control 4.2.8 has unpacked it."""
    name, version = _parse(path)
    *_, python, abis, tags = path.name.removesuffix(".whl").split("-")
    if tags != "any" and not any(re.fullmatch(FITS[platform], tag) for tag in tags.split(".")):
        raise ReleaseError(f"{path.name} does not fit {platform}.")
    if not ABIS.intersection(abis.split(".")):
        raise ReleaseError(
            f"{path.name} is for the ABI {abis}, and Sublime Text's Python has {', '.join(sorted(ABIS))}."
        )
    if not any(_runs(tag, abis) for tag in python.split(".")):
        raise ReleaseError(f"{path.name} is for {python}, not for Python {PYTHON}.")
    try:
        with zipfile.ZipFile(path) as archive:
            _check_content(path.name, name, version, archive)
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, EOFError) as error:
        raise ReleaseError(f"{path.name} can't be read: {error}.") from None


def _runs(tag: str, abis: str) -> bool:
    """Whether Python 3.14 takes a wheel with this tag of a Python."""
    match = re.fullmatch(r"(py|cp)(\d)(\d*)", tag)
    if not match or match[2] != "3":
        return False
    minor, ours = int(match[3] or 0), int(PYTHON.partition(".")[2])
    return minor == ours or (minor < ours and (match[1] == "py" or "abi3" in abis.split(".")))


def _check_content(file: str, name: str, version: str, archive: zipfile.ZipFile) -> None:
    names = archive.namelist()
    folder = _dist_info(file, name, names)
    told = email.message_from_string(archive.read(f"{folder}/METADATA").decode())
    if canonicalize_name(told["Name"] or "") != name or told["Version"] != version:
        raise ReleaseError(f"{file} is {told['Name']} {told['Version']} inside.")
    if PYTHON not in SpecifierSet(told["Requires-Python"] or ""):
        raise ReleaseError(f"{file} needs Python {told['Requires-Python']}, and Sublime Text's is {PYTHON}.")
    for member in names:
        if re.match(r"[^/]+\.data/(purelib|platlib)/", member):
            raise ReleaseError(f"{file} has {member}, which Package Control does not put where it belongs.")
        if re.fullmatch(r"[^/]+\.pth", member):
            raise ReleaseError(f"{file} counts on {member}, which Sublime Text does not read.")
    _check_record(file, folder, archive)


def _dist_info(file: str, name: str, names: Iterable[str]) -> str:
    """The folder that Package Control looks for, by a pattern of its own."""
    pattern = re.compile(rf"({re.escape(name.replace('-', '_'))}-\S+\.dist-info)/RECORD", re.IGNORECASE)
    folders = [match[1] for member in names if (match := pattern.fullmatch(member))]
    if len(folders) != 1:
        raise ReleaseError(f"{file} has no RECORD where Package Control looks for it.")
    return folders[0]


def _check_record(file: str, folder: str, archive: zipfile.ZipFile) -> None:
    listed: set[str] = set()
    for line in archive.read(f"{folder}/RECORD").decode().splitlines():
        fields = line.strip().split(",")  # as Package Control does, which knows no quotes
        listed.add(fields[0])
        if fields[0] == f"{folder}/RECORD" and len(fields) == 3:
            continue
        if len(fields) != 3 or not fields[1].startswith("sha256=") or not fields[2].isdecimal():
            raise ReleaseError(f"{file}: Package Control can't read the line “{line}” of its RECORD.")
        content = archive.read(fields[0])
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if fields[1] != f"sha256={digest}" or int(fields[2]) != len(content):
            raise ReleaseError(f"{file}: {fields[0]} is not what its RECORD says.")
    if unlisted := [name for name in archive.namelist() if not name.endswith("/") and name not in listed]:
        raise ReleaseError(f"{file}: its RECORD does not list {unlisted[0]}.")


def _parse(path: Path) -> tuple[str, str]:
    """The name and the version that a wheel's file name tells."""
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename:
        raise ReleaseError(f"{path.name} is not the name of a wheel.") from None
    if version.is_prerelease:
        raise ReleaseError(f"{path.name} is a pre-release, which Package Control leaves out.")
    return name, str(version)
