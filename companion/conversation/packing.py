"""Values that are not needed now, packed into few bytes."""

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Iterable, Mapping
from typing import IO, Any

LEVEL = 1
"""Of compression: 10 ms for a megabyte."""
WINDOW = -15
"""Of compression: 32 KB, and no check sum, since the bytes stay in memory."""


class Packer:
    """Packs values of plain types and of the classes that it is given.

    `example` is a value like those to come. What they have in common with it takes no room in them.

    It refers to the classes by their names. `pickle` alone would look for them in the loaded modules, which after a
    reload are those of another instance of the package.
    """

    def __init__(self, classes: Iterable[type], example: object = None) -> None:
        self._classes = {each.__name__: each for each in classes}
        self._example = bytes(self._plain(example))

    def pack(self, value: object) -> bytes:
        """The bytes.

        Raises:
            pickle.PicklingError: the value has something that can't be packed.
            RecursionError: it is nested too deeply.
        """
        compressor = zlib.compressobj(LEVEL, wbits=WINDOW, zdict=self._example)
        return compressor.compress(self._plain(value)) + compressor.flush()

    def unpack(self, packed: bytes) -> Any:
        """The value. The bytes must be of `pack`."""
        plain = zlib.decompressobj(WINDOW, zdict=self._example).decompress(packed)
        return _Unpickler(io.BytesIO(plain), self._classes).load()

    def _plain(self, value: object) -> memoryview:
        file = io.BytesIO()
        _Pickler(file, self._classes).dump(value)
        return file.getbuffer()


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
