"""The highest value that each figure may have. Times are those of a machine that does nothing else."""

from __future__ import annotations

from collections.abc import Mapping

LIMITS: Mapping[str, float] = {
    # Snapshots of 50,000 files, beside `git add -A` of a clone and `git status`
    "changes.begin_ratio": 1.2,
    "changes.copies_ratio": 1.5,
    "changes.scan_ratio": 1,
    "changes.store_ratio": 1.2,
    # 3,000 files: the first and the last
    "changes.undo_first_s": 0.3,
    "changes.undo_all_s": 4,
    # While an agent writes 200 files in a second
    "changes.keep_s": 0.5,
    # While the files of a baseline are copied, and while an agent writes all the time
    "changes.copying_core_percent": 50,
    "changes.core_percent": 5,
    # CPU time of the UI thread: 1,000 changes in 300 files, and single ones in a file of 10,000 lines
    "written.round_ui_ms": 30,
    "written.review_shown_ms": 300,
    "written.review_ui_ms": 30,
    "written.review_decision_ms": 50,
    "written.review_decision_ui_ms": 30,
    "written.review_300_files_ui_ms": 30,
    "written.undo_all_ui_ms": 30,
    "written.undo_all_s": 2,
    "written.keep_10k_ui_ms": 30,
    "written.undo_10k_ui_ms": 30,
    # A line of 10,000, with a log of 19 MB: beside a bare read of that, and once it is known
    "why.first_ratio": 4,
    "why.first_ms": 50,
    "why.again_ms": 20,
    "start.published_ms": 30,
    "start.initialize_ms": 1_500,
    # One full garbage collection after the import (docs/dev/decisions/0005-garbage-collector.md)
    "start.stall_ms": 100,
    # The first answer, as a multiple of a bare import of the libraries. As in an installed package, our own modules
    # are compiled at each start.
    "start.import_ratio": 2,
    "server.post_ms": 2,
    # Beside a companion with the stack of the official ones for VS Code. A p99 is that of few requests, so
    # it shows what else runs on the machine; a limit on it would only be met now and then.
    "peer.list_ratio": 0.8,
    "peer.diff_ratio": 1,
    "peer.large_ratio": 0.9,
    "peer.notification_ratio": 0.8,
    "peer.memory_ratio": 0.7,
    "review.10k.shown_ms": 150,
    "review.10k.stall_ms": 16,
    "review.100k.shown_ms": 1_500,
    "review.100k.stall_ms": 50,
    "review.files.shown_ms": 1_500,
    "review.files.stall_ms": 50,
    "review.marks_ms": 100,
    # "Grows linearly": a line of a long text takes about as long as one of a short text.
    # Quadratic growth would give 10.
    "review.growth": 2,
    # A key costs the same, however many diffs wait
    "review.typing_0_ms": 2,
    "review.typing_100_ms": 2,
    "review.typing_300_ms": 2,
    "review.git_ratio": 1.5,
    "review.lines_ratio": 1,
    # CPU time of the UI thread for 10,000 problems in 100 open files, from the package that has them to us
    "problems.10k_ui_ms": 20,
    # Six discovery files for four doors, some of them written again as the window comes to the front
    "windows.each_ms": 8,
    "windows.each_mb": 1,
    # CPU time of the UI thread for each event
    "context.1000_views_ui_ms": 0.2,
    "chat.first_chunk_ms": 50,
    "chat.10k_chunks_ui_ms": 1_500,
    # The same at any length, and no step on the UI thread over 20 ms
    "chat.tools_200_ui_ms": 400,
    "chat.open_3000_ms": 500,
    "chat.open_3000_stall_ms": 20,
    "chat.open_3000_loop_ms": 20,
    "chat.earlier_stall_ms": 20,
    "chat.frame_ms.10": 0.3,
    "chat.frame_ms.200": 0.3,
    "chat.frame_ms.3000": 0.3,
    # At most 1.1 times what the daemon's chat takes
    "acp.first_chunk_ms": 55,
    "acp.10k_chunks_ui_ms": 1_650,
}


def exceeded(figures: Mapping[str, float]) -> list[str]:
    """A sentence for each figure that is over its limit."""
    return [
        f"{name} is {value:g}, more than {LIMITS[name]:g}."
        for name, value in figures.items()
        if name in LIMITS and value > LIMITS[name]
    ]
