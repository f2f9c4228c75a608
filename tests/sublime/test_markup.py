"""Hostile text in every place that shows minihtml: none of it becomes a tag, an entity or a link."""

from __future__ import annotations

from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import patch

import sublime

from .chat_case import ChatCase
from .companion_case import CompanionCase, Steps, at_once, diff_views, loaded, text_of
from .own import kind_of

PLACES = {
    "review.header:Header.show": "test_the_headers_of_a_diff",
    "review.header:show_reason": "test_the_reason_of_a_proposal",
    "review.unsaved:UnsavedTexts._draw": "test_the_question_about_unsaved_text",
    "review.diff_marks:add_lines": "test_the_marks_of_a_diff",
    "review.diff_marks:SideMarks._draw_reverted": "test_the_marks_of_a_diff",
    "review.diff_marks:SideMarks._change_fillers": "test_the_marks_of_a_diff",
    "review.unsaved:OverwrittenTexts._put": "",
    "panels:changed_file": "test_the_list_of_what_a_turn_has_changed",
    "comments.views:CommentViews.draw": "test_the_comments_of_a_file",
    "chat.chat_commands:_list_changes": "test_the_list_of_what_a_turn_has_changed",
    "review.review_tab:ReviewMarks._links": "test_the_review",
    "review.review_tab:_signs": "test_the_review",
    "why:QwenCompanionWhyCommand._show": "test_the_popup_of_why_a_line_is_there",
    "panels:choose": "test_the_choices_of_a_panel",
    "install_agent:AgentList.show": "",
    "install_agent:AgentList._item": "test_the_list_of_agents_of_the_registry",
    "chat.marks:ChatMarks._put": "test_the_bar_the_questions_and_the_code_blocks_of_a_chat",
    "chat.clicks:Clicks.show_link": "test_the_popup_over_a_file_name",
    "chat.listener:_completion": "test_a_completion",
    "chat.sign_in:_SignIn._show": "",
    "status:LiveReport._links": "test_the_remedies_of_the_status_report",
    "chat.view:ScrollWatch._mark": "",
}
"""Each place that gives the editor minihtml, and the test here that feeds it. It is "" where no text is shown but our
own. tests/package/test_markup.py checks that no place is missing."""
HOSTILE = "<b>&<a href='subl:exit'>x"


class Parsed(HTMLParser):
    """The text of minihtml, and what in it is no text."""

    def __init__(self, minihtml: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(minihtml)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.text += data


class Minihtml:
    """All minihtml that the editor is given until the test is over."""

    def __init__(self, test: CompanionCase) -> None:
        self.shown: list[str] = []
        hear = self.shown.append
        heard: dict[tuple[type, str], Any] = {
            (sublime.View, "add_phantom"): lambda _key, _region, content, *_: hear(content),
            (sublime.View, "add_regions"): lambda *args, **named: [*map(hear, _annotations(args, named))],
            (sublime.View, "show_popup"): lambda content, *_, **__: hear(content),
            (sublime.Window, "show_quick_panel"): lambda items, *_, **__: [*map(hear, _details(items))],
        }
        for (owner, name), listener in heard.items():
            self._listen(test, owner, name, listener)

    @staticmethod
    def _listen(test: CompanionCase, owner: type, name: str, listener: Any) -> None:
        original = getattr(owner, name)

        def call(self: Any, *args: Any, **named: Any) -> Any:
            listener(*args, **named)
            return original(self, *args, **named)

        patcher = patch.object(owner, name, call)
        patcher.start()
        test.addCleanup(patcher.stop)


def _annotations(args: tuple[Any, ...], named: dict[str, Any]) -> list[str]:
    return list(args[5] if len(args) > 5 else named.get("annotations", ())) or []


def _details(items: list[sublime.QuickPanelItem]) -> list[str]:
    return [each for item in items for each in ([item.details] if isinstance(item.details, str) else item.details)]


class Checks(CompanionCase):
    """Looks at all minihtml of a test."""

    minihtml: Minihtml
    __test__: ClassVar[bool] = False

    def is_harmless(self, *texts: str) -> None:
        """Nothing that was shown is a tag or a link of the hostile text, and these texts were shown."""
        parsed = list(map(Parsed, self.minihtml.shown))
        for one in parsed:
            self.assertNotIn("b", one.tags)
            self.assertEqual([link for link in one.links if link.startswith("subl:")], [])
        for text in texts:
            self.assertTrue(any(text in one.text for one in parsed), text)


class TestDiffs(Checks):
    """Diffs and what lists them."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.minihtml = Minihtml(self)
        name = HOSTILE if sublime.platform() != "windows" else "&'subl:exit'"
        self.hostile = self.folder / name
        self.name = name

    def test_the_headers_of_a_diff(self) -> Steps:
        header = loaded("sublime_text.review.header")
        owner = SimpleNamespace(cli=HOSTILE)
        for endings in (False, True):
            review = SimpleNamespace(owner=owner, is_editable=True, endings=HOSTILE, keeps_endings=endings)
            self.minihtml.shown += header.proposal_headers(review, None, [HOSTILE])
        self.minihtml.shown += header.original_headers(HOSTILE, [HOSTILE], offers_reload=True)
        self.minihtml.shown.append(header.orphaned_header(HOSTILE))
        self.is_harmless(f"{HOSTILE} has disconnected", f"{HOSTILE}: a proposal", f"⚠ {HOSTILE}", f"not {HOSTILE}")
        yield from self.open_diff("x\n", self.hostile)
        yield lambda: self.screen.header(self.proposal)
        self.is_harmless("✓ Accept")

    def test_the_reason_of_a_proposal(self) -> Steps:
        diff = yield from self.propose("x\n")
        yield lambda: diff.is_open and self.screen.header(diff.proposal)
        reason = f"{HOSTILE}\r\n\x1b]0;\u202e{HOSTILE}"
        explain = lambda companion: companion.reviews.explain(diff.review.number, reason)  # noqa: E731
        loaded("sublime_text.package").adapter().thread.post(explain)
        yield lambda: HOSTILE[:9] in self.screen.header(diff.proposal)
        loaded("sublime_text.review.header").show_reason(diff.proposal, diff.review)
        self.is_harmless(f"“{HOSTILE[:9]}", rf"{HOSTILE} \x1b]0;\u202e{HOSTILE}")

    def test_the_comments_of_a_file(self) -> Steps:
        panel = loaded("sublime_text.package").adapter().comments
        self.view.run_command("qwen_companion_comment", {"text": f"{HOSTILE}1\n{HOSTILE}2"})
        self.addCleanup(panel.delete, list(panel.comments))
        self.is_harmless(f"{HOSTILE}1", f"{HOSTILE}2")
        yield 0

    def test_the_question_about_unsaved_text(self) -> Steps:
        self.view.run_command("insert", {"characters": "mine"})
        self.file.write_text("agent\n")
        at_once(loaded("sublime_text.package").adapter().unsaved.written_below, str(self.file), [HOSTILE], None)
        yield lambda: self.screen.phantoms(self.view, "qwen_companion.unsaved")
        self.is_harmless(f"{HOSTILE} has written", "Merge")

    def test_the_lines_that_were_removed(self) -> None:
        """With marked words."""
        html = loaded("sublime_text.review.diff_marks").gone_html(self.view, f"old {HOSTILE}", [(0, 3), (5, 9)])
        parsed = Parsed(html)
        self.assertIn(f"old {HOSTILE}", parsed.text.replace("\xa0", " "))
        self.assertEqual(parsed.links, [])
        self.assertLessEqual(set(parsed.tags), {"body", "style", "div", "span"})

    def test_the_marks_of_a_diff(self) -> Steps:
        self.file.write_text(f"a\n{HOSTILE}1\nb\n{HOSTILE}2\nc\n")
        yield from self.open_diff(f"a\nb\n{HOSTILE}3\nc\n")
        yield lambda: self.screen.annotations(self.proposal)
        self.proposal.sel().clear()
        self.proposal.sel().add(self.proposal.text_point(2, 0))
        self.proposal.run_command("qwen_companion_undo_change")
        yield lambda: self.screen.restores(self.proposal)
        self.is_harmless("restore 1 line", "↩ undo", "restore")

    def test_the_review(self) -> Steps:
        yield from self.open_diff(f"{HOSTILE}\n", self.hostile)
        self.window.run_command("qwen_companion_review")
        tab = loaded("sublime_text.package").adapter().review.tab(self.window).view
        yield lambda: HOSTILE in text_of(tab) and self.name in text_of(tab)
        yield lambda: any("Accept" in each for each in self.screen.phantoms(tab, "qwen_companion.review.signs"))
        self.is_harmless("Accept", "Reject")

    def test_the_list_of_rejected_texts(self) -> Steps:
        for text in (f"{HOSTILE}\nmore\n", "other\n"):
            yield from self.open_diff(text)
            self.proposal.run_command("qwen_companion_reject_diff")
            yield lambda: not diff_views(self.window, "proposal")
        self.window.run_command("qwen_companion_reopen_rejected")
        yield lambda: self.screen.panels
        self.is_harmless(HOSTILE)

    def test_the_choices_of_a_panel(self) -> Steps:
        loaded("sublime_text.panels").choose(self.window, [("Name", HOSTILE, lambda: None)], HOSTILE)
        yield lambda: self.screen.panels
        self.is_harmless(HOSTILE)

    def test_the_list_of_agents_of_the_registry(self) -> Steps:
        yield 1
        entries, registry = loaded("registry.entries"), loaded("registry.registry")
        source = entries.PackageSource("npx", "a@1")
        entry = entries.RegistryEntry("a", "A", "1", HOSTILE, f"https://{HOSTILE}", HOSTILE, packages=(source,))
        listing = registry.AgentListing((entry,), {}, 0.0)
        loaded("sublime_text.install_agent").AgentList(
            loaded("sublime_text.package").adapter(), self.window, listing
        ).show()
        self.is_harmless(HOSTILE, f"1 · {HOSTILE} · {HOSTILE}")

    def test_the_remedies_of_the_status_report(self) -> Steps:
        remedy = loaded("sublime_text.status").Remedy(HOSTILE, lambda _: None)
        finding = loaded("status.findings").Finding("What is wrong.")
        live = loaded("sublime_text.status")
        with (
            patch.object(live, "remedies", lambda _: (remedy,)),
            patch.object(live, "findings", lambda _: (finding,)),
            patch.object(live, "report", lambda _: "What is wrong.\n"),
        ):
            self.window.run_command("qwen_companion_status")
            yield {"condition": lambda: any("subl:exit" in one for one in self.minihtml.shown), "timeout": 60_000}
        self.is_harmless(HOSTILE)
        for view in self.window.views():
            if kind_of(view) == "status":
                view.close()


class TestChat(Checks, ChatCase):
    """A chat: what the model, the daemon and the person's files are called."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.minihtml = Minihtml(self)

    def hostile(self, what: str) -> str:
        """A hostile text that says where it is."""
        return f"{HOSTILE}{what}"

    def test_the_bar_the_questions_and_the_code_blocks_of_a_chat(self) -> Steps:
        values = self.view_values
        option = values.PermissionOption(self.hostile("id"), self.hostile("option"), "allow_once")
        permission = values.Permission(self.hostile("p"), "turn", "tool", self.hostile("title"), "execute", (option,))
        self.chat.pictures.append(self.hostile("picture"))
        self.show(
            self.message(f"{self.hostile('said')}\n\n```{self.hostile('code')}\n{HOSTILE}\n```\n"),
            self.tool(permission),
            permissions=(permission,),
            model="m",
            models=(values.Choice("m", self.hostile("model")),),
            mode=self.hostile("mode"),
            queue=(values.Queued(self.hostile("q"), self.hostile("queued")),),
            title=self.hostile("title"),
        )
        shown = ("option", "model", "mode", "queued", "picture")
        yield lambda: any("picture" in one for one in self.minihtml.shown)
        self.is_harmless(*map(self.hostile, shown), "Copy")
        links = self.adapter.chats.clicks.links(self.chat)
        self.assertIn(f"vote:0:{self.hostile('p')}", [link.href for link in links])
        self.window.run_command("qwen_companion_chat_links")
        yield lambda: self.screen.panels
        self.is_harmless()

    def test_the_popup_over_a_file_name(self) -> Steps:
        link = self.renders.Link(0, 1, HOSTILE)
        for is_local in (True, False):
            locality = self.view_values.Locality(self.hostile("host"), self.hostile("folder"), is_local=is_local)
            chat = SimpleNamespace(
                view=self.view,
                window=self.window,
                render=SimpleNamespace(locality=locality),
                marks=SimpleNamespace(link_at=lambda _: link),
            )
            self.adapter.chats.clicks.show_link(chat, 0)
        self.is_harmless(f"Open {HOSTILE}", f"{HOSTILE} is on {self.hostile('host')}, in {self.hostile('folder')}")
        self.view.hide_popup()
        yield 1

    def test_the_popup_of_why_a_line_is_there(self) -> Steps:
        log, why = loaded("provenance.log"), loaded("provenance.why")
        names = [self.hostile(name) for name in ("agent", "model", "prompt", "reason", "later")]
        for asked in ("", names[4]):
            call = log.LoggedCall("app.py", (), reason=names[3], asked=asked)
            turn = log.LoggedTurn(0.0, names[0], (call,), model=names[1], prompt=names[2])
            reason = why.Reason((0,), turn, call)
            command = loaded("sublime_text.why").QwenCompanionWhyCommand(self.view)
            command._show(self.adapter, self.window, [reason, reason])
        self.is_harmless(*names)
        self.view.hide_popup()
        yield 1

    def test_the_list_of_what_a_turn_has_changed(self) -> Steps:
        changes = loaded("chats.history")
        file = changes.ChangedFile(self.hostile("name"), self.hostile("path"), 1, 1, HOSTILE)
        listing = loaded("sublime_text.chat.chat_commands")
        turn = changes.TurnChanges("a", self.hostile("prompt"), (file,), is_untold=True)
        listing._list_changes(self.chat, [turn] * 2, 0)
        self.is_harmless(self.hostile("path"), listing.MORE)
        yield 1

    def test_a_completion(self) -> Steps:
        item = loaded("sublime_text.chat.listener")._completion("/x", "/x ", "", (0, "", ""), HOSTILE)
        self.minihtml.shown.append(item.details)
        self.is_harmless(HOSTILE)
        self.assertEqual(text_of(self.view)[: self.chat.text.length], self.shown)
        yield 1
