"""Importing the modules of packages: `<Package>.<module>`, from folders and zips."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import os
import sys
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType
from typing import cast

from headless.packages import FolderSource, Package, Source, ZipSource


class PackageLoader(importlib.abc.Loader):
    """Loads the package itself, which has no code of its own."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """None: Python makes the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: the editor doesn't run an `__init__.py` in the root folder of a package."""


COMPILED = os.path.join(os.path.dirname(__file__), "__pycache__", f"packages.{sys.implementation.cache_tag}")
"""The folder of what was compiled of the editor's packages, a file for each name of a module."""


class FolderModuleLoader(importlib.machinery.SourceFileLoader):
    """Loads a module from a folder, with a bytecode cache of its own.

    Python's tells versions apart by the second of their last change and by size: both may be the same for a module
    that a test rewrites. Also, nothing is written into the person's folder.
    """

    def get_code(self, fullname: str) -> CodeType:
        """The module's code, compiled again unless its source, its path and Python are those of the last time."""
        path = self.get_filename(fullname)
        source = self.get_data(path)
        compiled = os.path.join(COMPILED, fullname)
        # Python's number for what its bytecode means, and whether assertions are left out.
        python = b"%b%d" % (importlib.util.MAGIC_NUMBER, sys.flags.optimize)
        version = hashlib.blake2b(b"\0".join([python, os.fsencode(path), source]), digest_size=32).digest()
        with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
            with open(compiled, "rb") as file:
                known = file.read()
            if known.startswith(version):
                return cast("CodeType", marshal.loads(known[len(version) :]))  # noqa: S302 - as of any other __pycache__
        code = self.source_to_code(source, path)
        if not sys.dont_write_bytecode:
            _write(compiled, version + marshal.dumps(code))
        return code


def _write(path: str, data: bytes) -> None:
    """Put a file in its place, whole. It is no failure if that can't be done."""
    mine = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(mine, "wb") as file:
            file.write(data)
        os.replace(mine, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(mine)


class ZipModuleLoader(importlib.abc.SourceLoader):
    """Loads a module from a zip; its `__file__` is a path into the zip.

    As in the editor, importlib.resources finds nothing there: `sublime.load_resource` does.
    """

    def __init__(self, source: ZipSource, name: str) -> None:
        self._source = source
        self._name = name

    def get_filename(self, fullname: str) -> str:
        """`<…>/<Pkg>.sublime-package/<path>`."""
        return os.path.join(self._source.root, *self._name.split("/"))

    def get_data(self, path: str | bytes) -> bytes:
        """The bytes of a file, by its path into the zip."""
        inside = os.path.relpath(os.fsdecode(path), self._source.root).replace(os.sep, "/")
        try:
            return self._source.read(inside)
        except KeyError as error:
            raise OSError(f"{os.fsdecode(path)} is not in the zip") from error


class PackageFinder(importlib.abc.MetaPathFinder):
    """Finds the modules of the editor's packages; loose files override zipped ones."""

    def __init__(self) -> None:
        self._packages: dict[str, Package] = {}
        # Folders from elsewhere that are importable as sub-packages, by their dotted name.
        self._folders: dict[str, FolderSource] = {}

    def add_folder(self, name: str, folder: str) -> None:
        """Make a folder importable as `<Package>.<…>`, unless the package has a sub-package of that name."""
        self._folders[name] = FolderSource(folder)

    def add(self, package: Package) -> None:
        """Make a package importable."""
        self._packages[package.name] = package
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self, name: str) -> None:
        """Make a package no longer importable."""
        self._packages.pop(name, None)
        if not self._packages and self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a package or of a module in it."""
        top, _, rest = fullname.partition(".")
        package = self._package(top)
        if package is None:
            return None
        if not rest:
            return _package_spec(fullname, [source.root for source in package.sources])
        spec = self._module_spec(package.sources, fullname, rest.replace(".", "/"))
        return spec or self._folder_spec(fullname)

    def _package(self, name: str) -> Package | None:
        return self._packages.get(name)

    def _folder_spec(self, fullname: str) -> importlib.machinery.ModuleSpec | None:
        for name, source in self._folders.items():
            if fullname.startswith(name + "."):
                path = fullname[len(name) + 1 :].replace(".", "/")
                return self._module_spec([source], fullname, path)
            if f"{name}.".startswith(fullname + "."):
                return _package_spec(fullname, [source.root] if name == fullname else [])
        return None

    def _module_spec(self, sources: list[Source], fullname: str, path: str) -> importlib.machinery.ModuleSpec | None:
        # A loose file takes precedence over the same one in the zip, but any package over a module of its name.
        for name in (f"{path}/__init__.py", f"{path}.py"):
            for source in sources:
                if _has(source, name):
                    return self._file_spec(source, fullname, name)
        folders = [_search_path(s, path) for s in sources if _has_folder(s, path)]
        return _package_spec(fullname, folders) if folders else None

    def _file_spec(self, source: Source, fullname: str, name: str) -> importlib.machinery.ModuleSpec | None:
        file = os.path.join(source.root, *name.split("/"))
        search = [_search_path(source, name.rpartition("/")[0])] if name.endswith("/__init__.py") else None
        if isinstance(source, FolderSource):
            loader: importlib.abc.Loader = FolderModuleLoader(fullname, file)
        else:
            loader = ZipModuleLoader(source, name)
        return importlib.util.spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=search)


class UnloadedFinder(PackageFinder):
    """Finds the modules of packages that are installed but not loaded; other modules of these names take precedence."""

    def __init__(self, unloaded: Callable[[str], Package | None]) -> None:
        super().__init__()
        self._unloaded = unloaded
        sys.meta_path.append(self)

    def _package(self, name: str) -> Package | None:
        return self._unloaded(name)

    def close(self) -> None:
        """Stop finding modules."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def _package_spec(fullname: str, folders: list[str]) -> importlib.machinery.ModuleSpec:
    """The spec of a package without code, whose modules are in `folders`."""
    spec = importlib.machinery.ModuleSpec(fullname, PackageLoader(), is_package=True)
    spec.submodule_search_locations = folders
    return spec


def _search_path(source: Source, path: str) -> str:
    """The `__path__` of a sub-package: its folder; for one in a zip, as in the editor, the zip itself."""
    return os.path.join(source.root, *path.split("/")) if isinstance(source, FolderSource) else source.root


def _has(source: Source, name: str) -> bool:
    try:
        return source.size(name) is not None
    except IsADirectoryError:
        return False


def _has_folder(source: Source, path: str) -> bool:
    try:
        source.size(path)
    except IsADirectoryError:
        return True
    return False
