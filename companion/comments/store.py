"""The comments of a root folder on the disk: in a folder of ours, for this user only. Not for an event loop."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ..json_text import read_own
from ..platforms.files import make_private_folder, rename, write_private
from ..platforms.paths import path_key
from .comment import Comment

logger = logging.getLogger(__name__)

MAX_SIZE = 32 * 1024 * 1024
"""Bytes of a file of comments; a larger one is put aside."""
MAX_SENT = 200
"""Comments that were sent and are still kept, the latest of a root."""


class CommentStore:
    """Keeps the comments of each root in a file of its own below a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, root: str) -> str:
        """The file for a root."""
        name = hashlib.sha256(os.fsencode(path_key(root))).hexdigest()[:32]
        return os.path.join(self._folder, f"{name}.json")

    def load(self, root: str) -> list[Comment]:
        """The comments that were kept of a root. A damaged file is put aside, and nothing of it is lost."""
        path = self.path(root)
        if not os.path.lexists(path):
            return []
        body = read_own(Path(path), MAX_SIZE)
        found: object = None
        if body is not None and path_key(str(body.get("root"))) == path_key(root):
            found = body.get("comments")
        if not isinstance(found, list):
            aside = f"{path}.{secrets.token_hex(4)}.damaged"
            logger.warning("The comments of %s can't be read; they are in %s", root, aside)
            rename(path, aside)
            return []
        return [comment for each in cast("list[Any]", found) if (comment := Comment.of(each)) is not None]

    def save(self, root: str, comments: Sequence[Comment]) -> None:
        """Keep the comments of a root; none: remove its file. Raises OSError."""
        sent = sorted((comment for comment in comments if comment.is_sent), key=lambda comment: -comment.sent)
        dropped = {comment.id for comment in sent[MAX_SENT:]}
        kept = [comment.as_data() for comment in comments if comment.id not in dropped]
        path = self.path(root)
        if not kept:
            if os.path.lexists(path):
                os.remove(path)
            return
        os.makedirs(os.path.dirname(self._folder), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            make_private_folder(self._folder)
        write_private(path, json.dumps({"root": root, "comments": kept}).encode())
