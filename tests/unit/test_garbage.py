"""The garbage collector leaves out what the package loads; each test in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import gc
import weakref
from companion.garbage import loading, thaw
class Package:  # another package's object: a cycle as soon as nobody refers to it
    def __init__(self):
        self.me = self
other = Package()
gone = weakref.ref(other)
full = []
gc.callbacks.append(lambda phase, info: full.append(info) if phase == "start" else None)
assert not gc.get_freeze_count()
try:
    with loading():
        raise ImportError
except ImportError:
    assert not gc.get_freeze_count()
with loading():
    library = [[] for _ in range(100_000)]
assert not full
assert gc.isenabled()
frozen = gc.get_freeze_count()
assert frozen > 100_000
assert not any(found is library[0] for found in gc.get_objects())
with loading():
    module = [[] for _ in range(1_000)]
assert gc.get_freeze_count() <= frozen
assert any(found is module[0] for found in gc.get_objects())
del other
gc.collect()
assert gone()
thaw()
assert not gc.get_freeze_count()
gc.collect()
assert not gone()
"""


def test_the_collector_skips_what_was_loaded_until_the_package_is_gone(root: Path):
    """Otherwise a full collection holds the UI thread for 80 ms.

    Another package's cycle of that moment is frozen too, and is freed once ours is gone.
    """
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, check=True, timeout=60)
