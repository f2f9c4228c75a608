"""Reviews in every order of events: at most one outcome, to the session that asked."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from companion.editor import ReviewId, WindowId
from companion.protocol import DiffOutcome
from companion.review import reviews as review_module
from companion.review.disk import DiskFile, Encodings, SourceText
from companion.review.review import Review, from_plain, to_plain
from companion.review.reviews import Reviews

from ..memory_editor import MemoryEditor
from .reviewing import NoHost, reviews_in

EVENTS: dict[str, Callable[[Reviews, Review], Awaitable[object] | None]] = {
    "accept": lambda reviews, review: reviews.accept(review.number, "mine\n"),
    "reject": lambda reviews, review: reviews.reject(review.number),
    "close": lambda reviews, review: reviews.close(review.owner, review.file_path),
    "supersede": lambda reviews, review: (reviews.open(review.owner, review.file_path, "newer\n"), None)[1],
    "orphan": lambda reviews, review: reviews.orphan(review.owner),
    "close window": lambda reviews, _: reviews.reject_window(WindowId(1)),
    "stop": lambda reviews, _: reviews.reject_all(),
}


@dataclass(eq=False)
class Listener:
    """A session that writes down what it hears."""

    window: WindowId
    cli: str = "Qwen Code"
    heard: list[tuple[str, str | None]] = field(default_factory=list)
    is_model: bool = False

    def handed_over(self) -> dict[str, Any]:
        return {"session": self.cli}

    def notify(self, outcome: DiffOutcome) -> None:
        self.heard.append((outcome.file_path, outcome.content))


@dataclass
class Expected:
    """A review that is open, as the model knows it."""

    review: Review
    proposed: str
    orphaned: bool = False


class Orders(RuleBasedStateMachine):
    """Whatever happens, in whatever order, and with views that open now or later."""

    @initialize(folder=st.just("/no/such/folder"))
    def begin(self, folder: str):
        self.runner = asyncio.Runner()
        self.tasks: list[asyncio.Task[object]] = []
        self.editor = MemoryEditor()
        self.reviews = reviews_in(self.editor, self.background)
        self.owners = [Listener(WindowId(1)), Listener(WindowId(1)), Listener(WindowId(2))]
        self.paths = [f"{folder}/a", f"{folder}/b"]
        self.open_ones: dict[tuple[Listener, str], Expected] = {}
        self.ever: list[Review] = []
        self.expected: dict[Listener, list[tuple[str, str | None]]] = {owner: [] for owner in self.owners}

    def background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        self.tasks.append(task := self.runner.get_loop().create_task(work))
        return task

    def settle_tasks(self) -> None:
        async def settle() -> None:
            # What waits for the CLI to write is left alone: it would take seconds.
            waiting = [task for task in self.tasks if "_await_write" not in repr(task.get_coro())]
            await asyncio.gather(*waiting)

        self.runner.run(settle())
        self.tasks = [task for task in self.tasks if not task.done()]

    def teardown(self):
        if hasattr(self, "runner"):
            self.everything_is_settled()
            for task in self.tasks:
                task.cancel()
            self.runner.close()

    def pick(self, data: st.DataObject) -> Expected | None:
        keys = list(self.open_ones)
        return self.open_ones[data.draw(st.sampled_from(keys))] if keys else None

    @rule(owner=st.integers(0, 2), path=st.integers(0, 1), text=st.sampled_from(["", "x", "x\r\ny\n", "\ufeffz"]))
    def opens(self, owner: int, path: int, text: str):
        key = self.owners[owner], self.paths[path]
        review = self.reviews.open(*key, text)
        self.ever.append(review)
        self.open_ones[key] = Expected(review, text)

    @rule(data=st.data(), edited=st.sampled_from([None, "", "mine\n"]))
    def accepts(self, data: st.DataObject, edited: str | None):
        if expected := self.pick(data):
            review = expected.review
            self.reviews.accept(review.number, review.shown if edited is None else edited)
            content = expected.proposed if edited is None else review.restored(edited)
            if (content or not expected.proposed) and not expected.orphaned:
                self.settled(expected, content)

    @rule(data=st.data())
    def rejects(self, data: st.DataObject):
        if expected := self.pick(data):
            self.reviews.reject(expected.review.number)
            self.settled(expected, None)

    @rule(data=st.data())
    def closes(self, data: st.DataObject):
        if expected := self.pick(data):
            [key] = [key for key, one in self.open_ones.items() if one is expected]
            assert self.runner.run(self.reviews.close(*key)) == expected.proposed
            del self.open_ones[key]

    @rule(owner=st.integers(0, 2), path=st.integers(0, 1))
    def closes_what_may_not_be_open(self, owner: int, path: int):
        key = self.owners[owner], self.paths[path]
        content = self.runner.run(self.reviews.close(*key))
        assert (content is None) == (key not in self.open_ones)
        self.open_ones.pop(key, None)

    @rule(data=st.data())
    def answers_late(self, data: st.DataObject):
        gone = [review for review in self.ever if review not in {one.review for one in self.open_ones.values()}]
        if gone:
            review = data.draw(st.sampled_from(gone))
            self.reviews.accept(review.number, "late")
            self.reviews.reject(review.number)

    @rule(owner=st.integers(0, 2))
    def session_ends(self, owner: int):
        self.reviews.orphan(self.owners[owner])
        for (one, _), expected in self.open_ones.items():
            expected.orphaned |= one is self.owners[owner]

    @rule(window=st.integers(1, 2))
    def window_closes(self, window: WindowId):
        self.reviews.reject_window(WindowId(window))
        for expected in [one for (owner, _), one in self.open_ones.items() if owner.window == window]:
            self.settled(expected, None)

    @rule()
    def companion_stops(self):
        self.reviews.reject_all()
        for expected in list(self.open_ones.values()):
            self.settled(expected, None)

    @rule()
    def everything_is_settled(self):
        self.settle_tasks()
        assert self.editor.open_diffs.keys() == {expected.review.number for expected in self.open_ones.values()}

    def settled(self, expected: Expected, content: str | None) -> None:
        owner, path = expected.review.owner, expected.review.file_path
        assert isinstance(owner, Listener)
        del self.open_ones[owner, path]
        if not expected.orphaned:
            self.expected[owner].append((path, content))

    @invariant()
    def each_session_has_heard_its_own_outcomes_and_no_others(self):
        for owner in getattr(self, "owners", []):
            assert owner.heard == self.expected[owner]

    @invariant()
    def the_open_reviews_are_known_by_their_numbers(self):
        if hasattr(self, "reviews"):
            open_ones = {expected.review for expected in self.open_ones.values()}
            assert set(self.reviews) == open_ones
            for review in self.ever:
                assert self.reviews.find(review.number) is (review if review in open_ones else None)


def test_every_review_has_one_outcome_in_whatever_order_things_happen():
    """Accept, reject, close, supersede, orphan, a closing window, the stop; also answers that come late."""
    run_state_machine_as_test(Orders, settings=settings(max_examples=60, stateful_step_count=25, deadline=None))


@pytest.mark.parametrize("second", EVENTS)
@pytest.mark.parametrize("first", EVENTS)
def test_of_two_events_only_the_first_is_the_outcome(first: str, second: str, tmp_path: Path):
    """Each pair of them, with the diff on the screen."""
    owner, editor, path = Listener(WindowId(1)), MemoryEditor(), str(tmp_path / "a.txt")

    async def main() -> None:
        tasks: list[asyncio.Task[object]] = []
        reviews = reviews_in(editor, lambda work: tasks.append(asyncio.create_task(work)))
        review = reviews.open(owner, path, "new\n")
        await asyncio.gather(*tasks)
        for event in (first, second):
            if waiting := EVENTS[event](reviews, review):
                await waiting
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    heard: dict[str, list[tuple[str, str | None]]] = {"accept": [(path, "mine\n")]}
    heard |= {event: [(path, None)] for event in ("reject", "close window", "stop")}
    # The newer proposal answers for itself.
    deciding = second if first == "supersede" and second in {"close window", "stop"} else first
    assert owner.heard == heard.get(deciding, [])


def test_texts_are_not_compared_after_the_diff_is_closed(monkeypatch: pytest.MonkeyPatch):
    """The comparison takes its time, and the CLI may close meanwhile."""
    owner, editor = Listener(WindowId(1)), MemoryEditor()

    async def main() -> None:
        tasks: list[asyncio.Task[object]] = []
        reviews = reviews_in(editor, lambda work: tasks.append(asyncio.create_task(work)))
        loop = asyncio.get_running_loop()
        marks = review_module.marks

        def slow(original: str, proposal: str, proposed: str) -> Any:
            asyncio.run_coroutine_threadsafe(reviews.close(owner, "/none/a"), loop).result(10)
            return marks(original, proposal, proposed)

        monkeypatch.setattr(review_module, "marks", slow)
        reviews.open(owner, "/none/a", "new\n")
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert editor.seen == []
    assert owner.heard == []


Settle = Callable[[], Awaitable[object]]


@pytest.fixture
def tasks() -> list[asyncio.Task[object]]:
    return []


@pytest.fixture
def editor() -> MemoryEditor:
    return MemoryEditor()


@pytest.fixture
def host() -> NoHost:
    return NoHost()


@pytest.fixture
def reviews(editor: MemoryEditor, tasks: list[asyncio.Task[object]], host: NoHost) -> Reviews:
    return reviews_in(editor, lambda work: tasks.append(asyncio.create_task(work)), host)


@pytest.fixture
def settle(tasks: list[asyncio.Task[object]]) -> Settle:
    """Waits for what the reviews do."""
    return lambda: asyncio.gather(*tasks)


@pytest.mark.parametrize(
    ("cli", "is_answered", "kept"),
    [("Qwen Code", True, ["mine\n"]), ("Gemini CLI", True, []), ("Gemini CLI", False, ["mine\n"])],
)
async def test_edits_that_a_cli_takes_as_the_answer_are_not_kept_as_well(
    cli: str, is_answered: bool, kept: list[str], tmp_path: Path, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """Qwen Code writes its own proposal after a "yes" in the terminal, Gemini CLI what the diff holds."""
    owner, path = Listener(WindowId(1), cli), str(tmp_path / "a.txt")
    review = reviews.open(owner, path, "new\n")
    await settle()
    editor.open_diffs[review.number].text = "mine\n"
    assert await reviews.close(owner, path, is_answered=is_answered) == "mine\n"
    assert [text for _, _, text, _ in editor.kept] == kept


async def test_the_file_of_an_orphan_decides_nothing(
    tmp_path: Path, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """Orphaned, none notified; the view stays until the person closes it."""
    owner, path = Listener(WindowId(1)), tmp_path / "a.txt"
    review = reviews.open(owner, str(path), "new\n")
    await settle()
    reviews.orphan(owner)
    path.write_text("new\n")
    await reviews.check_disk()
    assert owner.heard == []
    assert editor.dismissed == []
    assert list(reviews) == [review]


async def test_a_file_that_stays_the_same_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reviews: Reviews, settle: Settle
):
    """A look costs one stamp."""
    reads: list[str] = []
    read_file = review_module.read_file
    monkeypatch.setattr(review_module, "read_file", lambda path, *more: (reads.append(path), read_file(path, *more))[1])
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    reviews.open(Listener(WindowId(1)), str(path), "new\n")
    await settle()
    path.write_text("other\n")
    for _ in range(3):
        await reviews.check_disk()
    assert len(reads) == 2


async def test_a_busy_editor_closes_a_diff_that_was_answered_in_the_terminal_as_soon_as_it_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """It stayed, with buttons that did nothing. What the person has edited comes too late for the CLI."""
    monkeypatch.setattr(review_module, "BUSY_LIMIT", 0.01)
    owner = Listener(WindowId(1), "Gemini CLI")
    review = reviews.open(owner, str(tmp_path / "a.txt"), "new\n")
    await settle()
    editor.open_diffs[review.number].text = "mine\n"
    editor.is_busy = True
    assert await reviews.close(owner, review.file_path, is_answered=True) == "new\n"
    assert editor.open_diffs
    editor.is_busy = False
    await settle()
    assert editor.open_diffs == {}
    assert [text for _, _, text, _ in editor.kept] == ["mine\n"]
    assert owner.heard == []


async def test_a_busy_editor_closes_a_diff_that_was_superseded_as_soon_as_it_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """The newer proposal is shown as well."""
    monkeypatch.setattr(review_module, "BUSY_LIMIT", 0.01)
    owner, path = Listener(WindowId(1)), str(tmp_path / "a.txt")
    first = reviews.open(owner, path, "first\n")
    await settle()
    editor.open_diffs[first.number].text = "mine\n"
    editor.is_busy = True
    reviews.open(owner, path, "second\n")
    await asyncio.sleep(0.05)
    editor.is_busy = False
    await settle()
    assert editor.diff(path).text == "second\n"
    assert [text for _, _, text, _ in editor.kept] == ["mine\n"]


async def test_a_close_whose_caller_has_gone_still_closes_the_diff(
    tmp_path: Path, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """A CLI may end while it waits for the text."""
    owner, path = Listener(WindowId(1)), str(tmp_path / "a.txt")
    reviews.open(owner, path, "new\n")
    await settle()
    editor.is_busy = True
    closing = asyncio.create_task(reviews.close(owner, path))
    await asyncio.sleep(0)
    closing.cancel()
    editor.is_busy = False
    await asyncio.gather(closing, return_exceptions=True)
    await settle()
    assert editor.open_diffs == {}


@pytest.mark.parametrize("why", ["empty", "orphaned"])
async def test_an_answer_that_is_refused_is_no_answer(
    why: str, tmp_path: Path, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """The editor has to know: the diff counted as answered, and was passed over from then on."""
    owner = Listener(WindowId(1))
    review = reviews.open(owner, str(tmp_path / "a.txt"), "new\n")
    await settle()
    if why == "orphaned":
        reviews.orphan(owner)
    reviews.accept(review.number, "" if why == "empty" else "new\n")
    assert (editor.refused, review.outcome) == ([review.number], "")
    reviews.reject(review.number)
    assert (review.outcome, editor.open_diffs) == ("rejected", {})


async def test_a_text_of_which_the_byte_order_mark_is_left_is_accepted(
    tmp_path: Path, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """It is not empty for the CLI, which writes it."""
    owner = Listener(WindowId(1))
    (tmp_path / "a.txt").write_text("old\n", encoding="utf-8")
    review = reviews.open(owner, str(tmp_path / "a.txt"), "\ufeffnew\n")
    await settle()
    reviews.accept(review.number, "")
    assert (owner.heard, editor.refused) == ([(str(tmp_path / "a.txt"), "\ufeff")], [])


async def test_a_proposal_that_is_replaced_while_its_file_is_read_has_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reviews: Reviews, settle: Settle
):
    """It would have been the outcome of the newer one."""
    is_read, goes_on = threading.Event(), threading.Event()
    read_file = review_module.read_file
    monkeypatch.setattr(
        review_module, "read_file", lambda *at: (found := read_file(*at), is_read.set(), goes_on.wait(30)) and found
    )
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    owner = Listener(WindowId(1))
    reviews.open(owner, str(path), "old\n")
    await asyncio.to_thread(is_read.wait, 30)
    newer = reviews.open(owner, str(path), "newer\n")
    goes_on.set()
    await settle()
    assert (owner.heard, list(reviews)) == ([], [newer])


async def test_a_model_writes_what_it_was_told_when_it_gets_to_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reviews: Reviews,
    host: NoHost,
    editor: MemoryEditor,
    settle: Settle,
):
    """It has the text as the answer of a tool, and thinks before it writes."""
    monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.0)
    monkeypatch.setattr(review_module, "LOOKS_SOON", 1)
    monkeypatch.setattr(review_module, "MODEL_LOOK", 0.01)
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    review = reviews.open(Listener(WindowId(1), "Claude", is_model=True), str(path), "new\n")
    await settle()
    reviews.accept(review.number, "mine\n")
    await asyncio.sleep(0.05)
    path.write_text("mine\n")
    await settle()
    assert host.written == ["mine\n"]
    assert editor.kept == []


async def test_a_text_that_nobody_can_write_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """Its owner has kept it already."""
    monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.0)
    monkeypatch.setattr(review_module, "LOOKS_SOON", 1)
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    review = reviews.open(Listener(WindowId(1)), str(path), "new\n")
    await settle()
    reviews.accept(review.number, "half \ud800\n")
    await settle()
    assert editor.kept == []


@pytest.mark.parametrize(
    ("data", "proposal"),
    [("café = 1\n".encode("cp1252"), "café = 1\n"), (b"a\x81b\n", "a\ufffdb\n"), ("x\n".encode("utf-16"), "\ufeffx\n")],
)
async def test_the_same_text_in_another_encoding_is_not_accepted_unseen(
    data: bytes, proposal: str, tmp_path: Path, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """The CLI would write other bytes."""
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    owner = Listener(WindowId(1))
    review = reviews.open(owner, str(path), proposal)
    await settle()
    os.utime(path, ns=(0, 0))
    await reviews.check_disk()
    assert (owner.heard, list(reviews), len(editor.open_diffs)) == ([], [review], 1)


async def test_an_accepted_text_is_kept_though_something_has_touched_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """Its time says nothing about its content."""
    monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.1)
    monkeypatch.setattr(review_module, "WRITE_LOOK", 0.01)
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    review = reviews.open(Listener(WindowId(1)), str(path), "new\n")
    await settle()
    reviews.accept(review.number, "mine\n")
    await asyncio.sleep(0.03)
    path.write_text("another tool's\n")
    await settle()
    assert [text for _, _, text, _ in editor.kept] == ["mine\n"]


@pytest.mark.parametrize(
    "data", [b"m\xc3\xad\r\n", b"\xef\xbb\xbfm\xc3\xad\n", b"m\xed\n", "\ufeffmí\n".encode("utf-16-le")]
)
async def test_an_accepted_text_is_written_in_whatever_way_a_cli_writes_it(
    data: bytes, tmp_path: Path, reviews: Reviews, editor: MemoryEditor, settle: Settle
):
    """A CLI may keep the line endings, the byte order mark and the encoding of the file."""
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    review = reviews.open(Listener(WindowId(1)), str(path), "new\n")
    await settle()
    review.encodings = Encodings("Western (Windows 1252)")
    path.write_bytes(data)
    reviews.accept(review.number, "mí\n")
    await settle()
    assert editor.kept == []


def test_a_review_goes_on_though_the_version_that_has_left_it_knew_more_of_its_file():
    """As where somebody goes back to the version before."""
    file, owner = DiskFile(SourceText("old\n"), exists=True, is_utf8=True), Listener(WindowId(1))
    left = to_plain(Review(owner, "/a", SourceText("new\n"), ReviewId(1), file))
    left["disk"]["of_a_later_version"] = True
    assert from_plain(left, owner).disk == file


async def test_what_was_answered_last_is_the_same_after_a_reload(
    tmp_path: Path, editor: MemoryEditor, reviews: Reviews, settle: Settle, tasks: list[asyncio.Task[object]]
):
    """What a CLI has yet to write is handed over before what has its outcome."""
    owner, window = Listener(WindowId(1)), WindowId(1)
    rejected, accepted = (reviews.open(owner, str(tmp_path / name), "new\n") for name in ("a.txt", "b.txt"))
    await settle()
    reviews.reject(rejected.number)
    reviews.accept(accepted.number, "new\n")
    [left] = reviews.hand_over().values()
    again = reviews_in(editor, lambda work: work.close())
    again.inherit(left, lambda _: owner)
    last = again.last_answered(window)
    assert last is not None
    assert last.review.file_path == accepted.file_path
    for task in tasks:
        task.cancel()
