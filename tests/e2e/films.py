"""Makes the animated pictures of docs/pictures for `scripts/pictures`, and stills of their steps, from real runs."""

from __future__ import annotations

import html
import shutil
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from PIL import Image  # pyright: ignore[reportMissingImports] - requirements/pictures.txt has it

from headless.render import MESSAGE

from .chatting import Room
from .clis import NEWEST_QWEN
from .editor import Editor
from .first_change import FirstChange
from .model import Call
from .pictures import (
    ANSWER,
    CHANGES,
    CHECK,
    EXAMPLE,
    LINE,
    PICTURES,
    QUESTION,
    THOUGHTS,
    WISH,
    divide,
    photograph,
    resize,
)
from .qwen import PROJECT
from .written_changes import WrittenChanges

WIDTH, CAPTION = 1120, 44
# The report is cut before the files by which a CLI finds the window: they have the folder of this run.
REVIEW_HEIGHT, CHAT_HEIGHT, REPORT_HEIGHT = 600, 860, 340
COLOURS = 256
"""A colour scheme, and the edges of its letters on each background."""
STYLE = (
    f"position: fixed; left: 0; bottom: 0; width: {WIDTH}px; height: {CAPTION}px; line-height: {CAPTION}px; "
    "box-sizing: border-box; padding: 0 16px; background: #181c20; color: #ffffff; font: 17px/44px sans-serif"
)
PAUSE = 0.4
"""Seconds between two pieces of the model's answer."""


class Film:
    """The pictures of one window, one after the other."""

    def __init__(self, name: str, height: int) -> None:
        self._name = name
        self._height = height
        self._folder = Path(tempfile.mkdtemp(prefix="film-"))
        self._frames: list[tuple[Path, float]] = []
        self._stills: dict[str, Path] = {}
        self.editor: Editor | None = None
        self.sidebar = True

    def begin(self, editor: Editor, *, sidebar: bool = True) -> None:
        """Give the editor's window the size of the pictures."""
        self.editor, self.sidebar = editor, sidebar
        resize(editor, (WIDTH, self._height), sidebar=sidebar)

    def show(self, what: str, seconds: float, picture: str = "") -> None:
        """Take one more, with a caption. `picture` is the name of a still of it."""
        assert self.editor
        page, shot = (self._folder / f"{len(self._frames)}.{kind}" for kind in ("html", "png"))
        window = self.editor.state()["windows"][0]["id"]
        options = {"width": WIDTH, "height": self._height, "scheme": "dark", "sidebar": self.sidebar}
        self.editor.do("render", window=window, path=str(page), **options)
        text = page.read_text(encoding="utf-8")
        # The folder of this run says nothing to a reader.
        for folder in (self.editor.home.home, self.editor.home.root):
            text = text.replace(str(folder), "/home/ada")
        caption = f'<div style="{STYLE}">{html.escape(what)}</div>'
        page.write_text(text.replace("</body>", f"{caption}</body>"), encoding="utf-8")
        photograph(page, shot, (WIDTH, self._height + CAPTION), scale=1)
        self._frames.append((shot, seconds))
        if picture:
            self._stills[picture] = shot

    def save(self) -> None:
        """Write the animated picture, if it has a name, and the stills, all with the same colours."""
        shots = [Image.open(shot).convert("RGB") for shot, _ in self._frames]
        strip = Image.new("RGB", (WIDTH, shots[0].height * len(shots)))
        for at, shot in enumerate(shots):
            strip.paste(shot, (0, shot.height * at))
        palette = strip.quantize(COLOURS, dither=Image.Dither.NONE)
        frames = [shot.quantize(palette=palette, dither=Image.Dither.NONE) for shot in shots]
        if self._name:
            film = PICTURES / f"{self._name}.png"
            durations = [round(1000 * seconds) for _, seconds in self._frames]
            frames[0].save(film, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
            print(f"{film.relative_to(PROJECT)}: {sum(durations) / 1000:.0f} s, {film.stat().st_size / 1000:.0f} kB")
        of_shot = {shot: frame for (shot, _), frame in zip(self._frames, frames, strict=True)}
        for name, shot in self._stills.items():
            still = PICTURES / f"{name}.png"
            of_shot[shot].crop((0, 0, WIDTH, self._height)).save(still, optimize=True)
            print(still.relative_to(PROJECT))
        shutil.rmtree(self._folder)


def review() -> None:
    """The first change of a new user, from the open folder to the accepted text."""
    film = Film("film-review", REVIEW_HEIGHT)
    with FirstChange(film.show) as user:
        film.begin(user.editor)
        user.open_folder()
        user.run()
        user.connect()
        film.begin(user.editor, sidebar=False)  # for the two sides of the diff
        proposal = user.ask()
        user.review(proposal)
        user.accept(proposal)
    film.save()


def trouble() -> None:
    """The status report on a CLI that was not connected."""
    film = Film("", REPORT_HEIGHT)
    with FirstChange() as user:
        film.begin(user.editor, sidebar=False)
        user.open_folder()
        user.run()
        user.decline()
        time.sleep(MESSAGE)  # until the status bar has no message of the start
        film.show("", 0, "trouble-1")
    film.save()


def chat() -> None:
    """A question, its answer as it comes, and a change that needs a permission."""
    film = Film("film-chat", CHAT_HEIGHT)
    with closing(Room(NEWEST_QWEN, managed=True, diff_layout="inline")) as room:
        film.begin(room.editor, sidebar=False)
        shutil.copytree(EXAMPLE, room.home.workspace, dirs_exist_ok=True)
        file = room.home.workspace / "orders.js"
        lines = ANSWER.splitlines(keepends=True)
        read = [Call("read_file", {"file_path": str(file)})]
        room.model.speech(*lines, thoughts=THOUGHTS, pause=PAUSE, rounds=[read], words=QUESTION)
        edit = {"file_path": str(file), "old_string": LINE, "new_string": CHECK + LINE}
        room.model.speech("Orders with unknown titles are refused now.", rounds=[[Call("edit", edit)]], words=WISH)
        for view in room.editor.views():  # the untitled tab of a new window
            room.editor.do("close_view", view=view["id"])
        view = room.editor.open_file(file)
        window = room.editor.state()["windows"][0]["id"]
        divide(room.editor, window)
        here = room.window()
        here.wait_live()
        film.show("“Qwen: Chat” opens a conversation in a tab.", 5, "chat-1")
        for part in (QUESTION[:18], QUESTION[18:]):
            here.write(part)
            film.show("Write at the end of the tab. Enter sends.", 2)
        here.press("enter")
        for line in filter(str.strip, lines):
            here.wait_text(line.strip().split("`")[0][:30])
            film.show("Thoughts and tool calls are folded; the answer comes in as it is written.", 1.5)
        here.wait_text(lines[-1])
        here.wait_idle()
        film.show("File names and code blocks have links: open, copy, insert.", 7, "chat-2")
        here.write(WISH)
        film.show("Ask for a change.", 3)
        here.press("enter")
        here.wait_diff()
        room.editor.wait("marks", lambda: CHANGES in room.editor.view(here.diffs[0]["id"])["regions"])
        film.show("Before anything is written, the diff opens and the chat asks.", 8, "chat-3")
        here.answer("y")
        here.wait_no_diff()
        here.wait_text("Orders with unknown titles")
        here.wait_idle()
        room.editor.wait("written file", lambda: CHECK in room.editor.view(view)["text"])
        film.show("y allows it once, n rejects it. Nothing is ever allowed for you.", 8, "chat-4")
    film.save()


def changes() -> None:
    """What Qwen Code writes without asking, reviewed change by change, and how it goes on."""
    film = Film("film-changes", REVIEW_HEIGHT)
    with WrittenChanges(film.show) as user:
        film.begin(user.editor)
        user.work()
        user.decide()
        user.go_on()
        user.finish()
    film.save()


TAKEN = (review, trouble, chat, changes)


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    taken = {each.__name__: each for each in TAKEN}
    for name in sys.argv[1:] or taken:
        taken[name]()
