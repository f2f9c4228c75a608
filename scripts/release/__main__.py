"""`python -m scripts.release VERSION`: fills a folder with a release.

Or says in one sentence why not, and leaves the folder as it was.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from companion import __version__

from . import ReleaseError
from .pins import FROM_CHANNEL, needed
from .repository import NAME, Package, beside, channel_entries, check, repository, tag_address
from .wheels import collect, fetch

ROOT = Path(__file__).resolve().parents[2]
SUMS = "SHA256SUMS"
NO_DATE = "1980-01-01 00:00:00"
"""Of a release that is not made from a commit."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="scripts/package --release", description="Build a release.")
    result.add_argument("version", help="the version, which must be the package's own")
    result.add_argument("--base", metavar="URL", help="where the release's files will be; relative addresses without")
    result.add_argument("--offline", action="store_true", help="add the libraries that the default channel has")
    result.add_argument("--worktree", action="store_true", help="from the files as they are, not from the last commit")
    result.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist", help="where to put it (default: dist)")
    return result


def git(*arguments: str) -> str | None:
    """What git prints about this repository; None if this folder is no repository of its own."""
    run = subprocess.run(
        ["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False, env=os.environ | {"TZ": "UTC"}
    )
    return run.stdout.strip() if run.returncode == 0 else None


def date(*, worktree: bool) -> str:
    """When the commit was made, in UTC. Raises ReleaseError if files differ from it."""
    if worktree or git("rev-parse", "--show-prefix") != "":
        return NO_DATE
    if changed := git("status", "--porcelain"):
        first = changed.splitlines()[0].strip().partition(" ")[2].strip()
        raise ReleaseError(f"{first} is not committed, and a release is made from a commit.")
    return git("log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d %H:%M:%S") or NO_DATE


def build(options: argparse.Namespace, folder: Path) -> None:
    """Fill an empty folder."""
    if options.version != __version__:
        raise ReleaseError(f"The package's version is {__version__}, not {options.version}.")
    try:
        address = tag_address(options.base, options.version) if options.base else beside
    except ValueError as error:
        raise ReleaseError(str(error)) from None
    made = date(worktree=options.worktree)
    pins = needed(ROOT)
    if not options.offline:
        pins = [pin for pin in pins if pin.name not in FROM_CHANNEL]
    wheels = collect(fetch(pins, ROOT / ".cache" / "wheels"), pins)
    for wheel in wheels:
        shutil.copyfile(wheel.path, folder / wheel.path.name)
    package = Package(archive(folder / f"{NAME}.sublime-package", worktree=options.worktree), options.version, made)
    text = repository(package, wheels, address)
    try:
        check(text)
    except ValueError as error:
        raise ReleaseError(str(error)) from None
    (folder / "repository.json").write_text(text, encoding="utf-8", newline="\n")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / SUMS).write_text("".join(sums), encoding="utf-8", newline="\n")
    (folder / "channel").mkdir()
    for name, entry in channel_entries(wheels).items():
        (folder / "channel" / name).write_text(entry, encoding="utf-8", newline="\n")


def archive(target: Path, *, worktree: bool) -> Path:
    """Build the package itself."""
    command = [
        shutil.which("bash") or "bash",
        ROOT / "scripts" / "package",
        *(["--worktree"] if worktree else []),
        target,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise ReleaseError(f"The package can't be built: {run.stderr.strip() or 'scripts/package failed'}")
    return target


def check_folder(folder: Path) -> None:
    """Raise ReleaseError for a folder with something else in it, which would be lost."""
    if folder != ROOT / "dist" and folder.exists() and any(folder.iterdir()) and not (folder / SUMS).exists():
        raise ReleaseError(f"{folder} holds other files than a release.")


def replace(folder: Path, new: Path) -> None:
    """Put a folder in another's place."""
    old = new.with_name(f"{new.name}-old")
    if folder.exists():
        os.replace(folder, old)
    os.replace(new, folder)
    shutil.rmtree(old, ignore_errors=True)


def main() -> None:
    """Build a release."""
    # Python 3.11 would not take the optional folder behind an option otherwise.
    options = parser().parse_intermixed_args()
    folder: Path = options.folder.absolute()
    scratch = None
    try:
        check_folder(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".release-", dir=folder.parent))
        build(options, scratch)
        scratch.chmod(0o755)
        replace(folder, scratch)
    except (ReleaseError, OSError) as error:
        print(f"package: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    files = [file for file in folder.iterdir() if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    wheels = sum(bool(re.search(r"\.whl$", file.name)) for file in files)
    print(f"{folder}: version {options.version}, {wheels} wheels, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
