"""What the reviews need from an editor, and from whoever serves its windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..editor import Screen

if TYPE_CHECKING:
    from ..conversation.forms import Form, Values
    from ..editor import ReviewId, WindowId
    from ..settings import Settings
    from .changes import TextEdit
    from .disk import Encodings, Stamp
    from .marks import Marks
    from .review import Review


class DiffViews(Protocol):
    """The diffs on the screen, called on the companion thread."""

    async def show_review(self, review: Review, marks: Marks | None) -> None:
        """Open the diff of a review without taking the focus; without marks if the texts can't be compared."""
        ...

    async def edit_text(self, review: Review, edits: Sequence[TextEdit], text: str) -> bool:
        """Make these edits, in order from the top, if the proposal's view has this text. Returns whether it has."""
        ...

    def update_header(self, review: Review) -> None:
        """Something has changed that the diff's header says, such as `disk_state`, the reason, or `orphaned`."""
        ...

    def reload_review(self, review: Review) -> None:
        """Show the file again, which has been read again, and ask for the marks."""
        ...

    async def review_text(self, review: Review) -> str | None:
        """The current text of the proposal's view, with plain line feeds; None if it isn't open.

        A busy editor answers when it is idle.
        """
        ...

    async def resume_reviews(self, reviews: Sequence[Review]) -> Sequence[ReviewId]:
        """Go on with the diffs of reviews from before a reload, in their `views`, which show the proposal's text.

        Returns those whose views were closed meanwhile.
        """
        ...

    def abandon_reviews(self, left: Sequence[Mapping[str, Any]]) -> None:
        """No instance of the package goes on with these reviews, which are plain data (`review.to_plain`).

        Close their views, and keep what was edited in ordinary tabs. Called on any thread, after the package was
        unloaded.
        """
        ...

    def refuse_answer(self, review: Review) -> None:
        """The person's answer can't be taken: the diff waits for another one."""
        ...

    def dismiss_review(self, review: Review) -> None:
        """Close the diff's views and restore the focus, or go on to the next diff; the review has its outcome."""
        ...


class UnsavedTextError(OSError):
    """A tab has text that isn't saved and is not to be lost."""


class OpenFiles(Protocol):
    """The files that are open in tabs, called on the companion thread."""

    async def open_files(self) -> Mapping[str, bool]:
        """The files that are open in any window, by their real paths, and whether they have unsaved edits."""
        ...

    async def buffer(self, path: str) -> str | None:
        """The unsaved text of a file that is open, with plain line feeds; None if it isn't open or has no edits."""
        ...

    async def replace_buffer(self, path: str, text: str, *, known: str | None = None) -> Stamp:
        """Replace the text of a file that is open, as one step of undo, and save it.

        Returns its stamp then; None if it isn't open.

        `text` has plain line feeds and no byte order mark. The view keeps its encoding and its line endings. An unsaved
        text that is `known` to whoever writes is saved first.

        Raises:
            UnsavedTextError: it has another unsaved text.
            OSError: it can't be saved.
        """
        ...

    async def encodings(self, path: str) -> Encodings:
        """How the editor decodes a file, open or not."""
        ...


class QuestionClosedError(OSError):
    """The person has closed a question without an answer. What has asked it does nothing, and its callers say so."""

    def __init__(self) -> None:
        super().__init__("nothing was written: the question was closed without an answer")


class QuestionDialogs(Protocol):
    """Questions in dialogs and panels, called on the companion thread."""

    async def confirm(self, window: WindowId, question: str, yes: str, no: str = "") -> bool:
        """Ask a question with a button for yes; True if the person clicks that.

        Nobody has asked for it, so it comes only once nothing has been typed for a while: a key would answer it. With
        `no`, a button of that name answers no, and QuestionClosedError is raised if the question is closed without an
        answer.
        """
        ...

    async def may_touch(self, agent: str, path: str, *, writes: bool) -> bool:
        """Ask the person whether an agent may read or write a file that is outside the chat's folders."""
        ...

    async def elicit(self, window: WindowId, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
        """Have the person fill in a form, or go to a page, while there is no conversation that could show it.

        Returns `accept`, `decline` or None if they did neither, and what they have entered.
        """
        ...


class FileScreen(Screen, Protocol):
    """What whoever writes files needs of the screen."""

    @property
    def files(self) -> OpenFiles:
        """The files in tabs."""
        ...

    @property
    def questions(self) -> QuestionDialogs:
        """Questions."""
        ...


class ReviewScreen(FileScreen, Protocol):
    """What the reviews need of the screen."""

    @property
    def diffs(self) -> DiffViews:
        """The diffs."""
        ...


class ReviewHost(Protocol):
    """What the reviews need from whoever serves the windows."""

    def settings_of(self, window: WindowId) -> Settings:
        """The settings of a window."""
        ...

    def changes_changed(self) -> None:
        """Something waits for a review, or no longer."""
        ...

    def change_proposed(self, review: Review) -> None:
        """An agent proposes a change."""
        ...

    def proposal_answered(self, review: Review) -> None:
        """The person has accepted a proposal, or rejected it."""
        ...

    def proposal_written(self, review: Review, text: str) -> None:
        """A proposal is on the disk, with this text."""
        ...
