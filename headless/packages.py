"""Packages as resources: folders and `.sublime-package` files, loose files going first."""

from __future__ import annotations

import fnmatch
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from headless import syntaxes
from headless.loop import report_exception
from headless.paths import Paths

DEFAULT_PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "default")
"""The editor's own package, as far as other packages import it."""
_IGNORED_FOLDERS = {".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"}


class FolderSource:
    """A package's files in a folder."""

    def __init__(self, root: str) -> None:
        self.root = root

    def names(self) -> Iterator[str]:
        """The paths of all files, with slashes."""
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(set(folders) - _IGNORED_FOLDERS)
            for file in sorted(files):
                path = os.path.relpath(os.path.join(folder, file), self.root)
                yield path.replace(os.sep, "/")

    def root_names(self) -> list[str]:
        """The files in the folder itself; its sub-folders are not read."""
        return sorted(e.name for e in os.scandir(self.root) if e.is_file())

    def size(self, name: str) -> int | None:
        """The size of a file in bytes, None if there is no such file.

        Raises IsADirectoryError for a folder.
        """
        path = os.path.join(self.root, name)
        if os.path.isdir(path):
            raise IsADirectoryError(name)
        return os.path.getsize(path) if os.path.isfile(path) else None

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        with open(os.path.join(self.root, name), "rb") as file:
            return file.read()


class ZipSource:
    """A package's files in a zip; read again when the zip on disk has changed."""

    def __init__(self, path: str) -> None:
        self.root = path
        self._stamp = 0
        self._sizes: dict[str, int] = {}

    def _look(self) -> dict[str, int]:
        stamp = os.stat(self.root).st_mtime_ns
        if stamp != self._stamp:
            with zipfile.ZipFile(self.root) as archive:
                self._sizes = {i.filename: i.file_size for i in archive.infolist()}
            self._stamp = stamp
        return self._sizes

    def names(self) -> Iterator[str]:
        """The paths of all files."""
        return iter(sorted(name for name in self._look() if not name.endswith("/")))

    def root_names(self) -> list[str]:
        """The files at the top."""
        return [name for name in self.names() if "/" not in name]

    def size(self, name: str) -> int | None:
        """The size of a file in bytes, None if there is no such file.

        Raises IsADirectoryError for a folder.
        """
        sizes = self._look()
        if name not in sizes and any(other.startswith(name.rstrip("/") + "/") for other in sizes):
            raise IsADirectoryError(name)
        return sizes.get(name)

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        with zipfile.ZipFile(self.root) as archive:
            return archive.read(name)


Source = FolderSource | ZipSource


@dataclass
class Package:
    """A package: its name and where its files are. The first place that has a file wins."""

    name: str
    sources: list[Source]

    def find(self, path: str) -> Source | None:
        """Where the file `path` of the package is."""
        for source in self.sources:
            if source.size(path) is not None:
                return source
        return None

    def names(self) -> list[str]:
        """The paths of all files."""
        return sorted({name for source in self.sources for name in source.names()}, key=str.lower)

    def syntaxes(self) -> list[tuple[str, Source]]:
        """The root files that define a syntax, and where they are."""
        names = {name for source in self.sources for name in source.root_names() if name.endswith(".sublime-syntax")}
        return [(name, source) for name in sorted(names) if (source := self.find(name))]

    def plugins(self) -> list[str]:
        """The names of the root modules, which the editor loads."""
        names = {name for source in self.sources for name in source.root_names()}
        return sorted(n[:-3] for n in names if n.endswith(".py") and n != "__init__.py")


def open_source(path: str) -> Source:
    """The files of a folder or of a zip.

    Raises FileNotFoundError if there is neither, zipfile.BadZipFile for another file.
    """
    if os.path.isdir(path):
        return FolderSource(path)
    source = ZipSource(path)
    source.root_names()
    return source


class Packages:
    """All packages of an editor, User last, as the editor orders them."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._by_name: dict[str, Package] = {}
        self.add("Default", FolderSource(DEFAULT_PACKAGE))
        self.add("User", FolderSource(paths.user))

    def add(self, name: str, source: Source) -> Package:
        """Add a package; files in `Packages/<name>` override its own."""
        loose = os.path.join(self._paths.packages, name)
        sources = [source]
        if os.path.isdir(loose) and os.path.realpath(loose) != os.path.realpath(source.root):
            sources.insert(0, FolderSource(loose))
        package = self._by_name[name] = Package(name, sources)
        syntaxes.register(
            name, {file: source.read(file).decode("utf-8", "replace") for file, source in package.syntaxes()}
        )
        return package

    def remove(self, name: str) -> None:
        """Forget a package."""
        syntaxes.forget(name)
        self._by_name.pop(name, None)

    def get(self, name: str) -> Package | None:
        """The package of this name: an added one, or one that lies in one of the editor's folders."""
        if name in self._by_name:
            return self._by_name[name]
        folder = os.path.join(self._paths.packages, name)
        if os.path.isdir(folder):
            return Package(name, [FolderSource(folder)])
        archive = os.path.join(self._paths.installed_packages, name + ".sublime-package")
        return Package(name, [ZipSource(archive)]) if os.path.isfile(archive) else None

    def ordered(self) -> list[Package]:
        """All packages by name, but Default first and User last."""
        names = set(self._by_name)
        names.update(entry.name for entry in os.scandir(self._paths.packages) if entry.is_dir())
        names.update(
            entry.name.removesuffix(".sublime-package")
            for entry in os.scandir(self._paths.installed_packages)
            if entry.name.endswith(".sublime-package")
        )
        found = (self.get(name) for name in sorted(names, key=_order))
        return [package for package in found if package is not None]

    def _locate(self, resource: str) -> tuple[Source, str]:
        root, _, rest = resource.partition("/")
        name, _, path = rest.partition("/")
        package = self.get(name)
        source = package.find(path) if root == "Packages" and package and path else None
        if source is None:
            raise FileNotFoundError(f"resource not found: {resource}")
        return source, path

    def size(self, resource: str) -> int:
        """The size of `Packages/<name>/<path>` in bytes; raises FileNotFoundError."""
        source, path = self._locate(resource)
        return source.size(path) or 0

    def read(self, resource: str) -> bytes:
        """The bytes of `Packages/<name>/<path>`; raises FileNotFoundError."""
        source, path = self._locate(resource)
        return source.read(path)

    def find(self, pattern: str) -> list[str]:
        """The resources whose file name matches a glob pattern; all of them for an empty one."""
        return [
            f"Packages/{package.name}/{name}"
            for package in self.ordered()
            for name in package.names()
            if not pattern or fnmatch.fnmatchcase(name.rpartition("/")[2], pattern)
        ]

    def settings_texts(self, file_name: str) -> list[str]:
        """The text of a settings file in every package but User."""
        return self.texts([file_name], user=False)

    def texts(self, file_names: list[str], *, user: bool = True) -> list[str]:
        """The text of root files of these names in every package, User last, which `user` may leave out."""
        texts = []
        for package in self.ordered():
            for name in file_names if user or package.name != "User" else ():
                source = package.find(name)
                if source is not None:
                    try:
                        texts.append(source.read(name).decode("utf-8"))
                    except (OSError, UnicodeDecodeError):
                        report_exception()
        return texts


def _order(name: str) -> tuple[bool, bool, str]:
    return name == "User", name != "Default", name
