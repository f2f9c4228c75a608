"""Values that are not needed now, packed into few bytes."""

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Iterable, Mapping
from typing import IO, Any

LEVEL = 1
"""Of compression: 10 ms for a megabyte."""


class Packer:
    """Packs values of plain types and of the classes that it is given.

    It refers to the classes by their names. `pickle` alone would look for them in the loaded modules, which after a
    reload are those of another instance of the package.
    """

    def __init__(self, classes: Iterable[type]) -> None:
        self._classes = {each.__name__: each for each in classes}

    def pack(self, value: object) -> bytes:
        """The bytes.

        Raises:
            pickle.PicklingError: the value has something that can't be packed.
            RecursionError: it is nested too deeply.
        """
        file = io.BytesIO()
        _Pickler(file, self._classes).dump(value)
        return zlib.compress(file.getbuffer(), LEVEL)

    def unpack(self, packed: bytes) -> Any:
        """The value. The bytes must be of `pack`."""
        return _Unpickler(io.BytesIO(zlib.decompress(packed)), self._classes).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: IO[bytes], classes: Mapping[str, type]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._classes = classes

    def persistent_id(self, obj: object) -> str | None:
        return obj.__name__ if isinstance(obj, type) and self._classes.get(obj.__name__) is obj else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], classes: Mapping[str, type]) -> None:
        super().__init__(file)
        self._classes = classes

    def persistent_load(self, pid: str) -> type:
        return self._classes[pid]
