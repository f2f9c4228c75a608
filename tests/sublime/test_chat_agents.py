"""A chat with an agent on its standard input and output: which one, with whose consent, and its files."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import skipIf
from unittest.mock import patch

import sublime

from .changes_case import CHANGES, FILE, PROPOSAL, ChangesCase
from .chat_case import ChatCase, Steps, loaded
from .companion_case import CompanionCase, at_once, diff_views, text_of

OWN = {"Own": {"command": ["own-agent", "--acp", "a b"], "letter": "O"}}
CONSENT = "QwenCompanion Agents.sublime-settings"


class AgentCase(ChatCase):
    """A window without a chat, the daemon turned off, and one agent whose program is there."""

    enabled = False

    def open_chat(self) -> Steps:
        consent = sublime.load_settings(CONSENT)
        for name in ("allowed", "last"):
            self.addCleanup(consent.set, name, consent.get(name))
            consent.erase(name)
        self.saved: list[str] = []
        saving = patch.object(sublime, "save_settings", self.saved.append)
        saving.start()
        self.addCleanup(saving.stop)
        self.asked: list[str] = []
        self.says_yes = True
        dialog = patch.object(sublime, "ok_cancel_dialog", self._asked)
        dialog.start()
        self.addCleanup(dialog.stop)
        self.set_setting("chat_enabled", self.enabled)
        self.set_setting("agents", OWN)
        self.chats.answers["programs"] = ["Own"]
        yield 1

    def _asked(self, text: str, *_: Any) -> bool:
        self.asked.append(text)
        return self.says_yes

    def panel(self, command: str = "qwen_companion_chat") -> Steps:
        """Run a command, and wait until it asks which agent."""
        before = len(self.screen.panels)
        self.window.run_command(command)
        yield lambda: len(self.screen.panels) > before
        self.items = self.screen.panels[-1][0]

    def opened(self) -> Any:
        return self.adapter.chats.of(self.window)


class TestPicking(AgentCase):
    def test_which_one_is_asked_once(self) -> Steps:
        yield from self.panel()
        shown = {item.trigger: (html.unescape(str(item.details)), item.annotation) for item in self.items}
        self.assertEqual(shown["Own"], ("own-agent --acp 'a b'", ""))
        self.assertIn("Qwen Code, by its daemon", shown)
        self.assertEqual(shown["Gemini CLI"], ("Install it: npm install -g @google/gemini-cli", "not found"))
        self.screen.pick("Own")
        yield self.opened
        self.assertEqual(len(self.asked), 1)
        self.assertIn("own-agent --acp 'a b'", self.asked[0])
        self.assertIn("with your rights", self.asked[0])
        yield from self.told("open")
        opened = self.opened().id, self.window.id(), str(self.folder), "", "Own"
        self.assertEqual(self.chats.of("open"), [opened])
        self.opened().view.close()
        yield lambda: not self.opened()
        self.window.run_command("qwen_companion_chat")
        yield self.opened
        self.assertEqual((len(self.screen.panels), len(self.asked)), (1, 1))
        self.assertEqual(self.opened().agent_key, "Own")

    def test_nothing_is_started_without_a_yes(self) -> Steps:
        self.says_yes = False
        yield from self.panel()
        self.screen.pick("Own")
        yield lambda: self.asked
        yield from self.panel()
        self.assertIsNone(self.opened())
        self.assertEqual((self.chats.of("open"), self.saved), ([], []))

    def test_another_command_is_asked_about_again(self) -> Steps:
        yield from self.panel()
        self.screen.pick("Own")
        yield self.opened
        self.opened().view.close()
        yield lambda: not self.opened()
        self.set_setting("agents", {"Own": {"command": ["another"]}})
        yield from self.panel()
        self.screen.pick("Own")
        yield lambda: len(self.asked) == 2
        self.assertIn("another", self.asked[1])

    def test_the_mcp_servers_are_shown_before_the_first_start_and_when_they_change(self) -> Steps:
        consent = sublime.load_settings(CONSENT)
        self.addCleanup(consent.set, "allowed_servers", consent.get("allowed_servers"))
        self.set_setting("agents_mcp_servers", {"docs": {"url": "https://docs.example/mcp"}})
        yield from self.panel()
        self.screen.pick("Own")
        yield self.opened
        self.assertEqual(len(self.asked), 1)
        self.assertIn("docs: https://docs.example/mcp", self.asked[0])
        self.assertTrue(self.adapter.consent.allows("Own"))
        secret = {"Authorization": "Bearer ${DOCS_TOKEN}"}
        self.set_setting("agents_mcp_servers", {"docs": {"url": "https://other.example/mcp", "headers": secret}})
        yield lambda: not self.adapter.consent.allows("Own")
        yield from self.panel("qwen_companion_chat_with")
        self.screen.pick("Own")
        yield lambda: len(self.asked) == 2
        self.assertIn("docs: https://other.example/mcp with Authorization", self.asked[1])
        self.assertNotIn("Bearer", self.asked[1])

    def test_a_question_is_short_and_says_what_it_does_not_show(self) -> Steps:
        command = ["own-agent", "x" * 390_000]
        variables = {"KEY": "the-secret", "NODE_OPTIONS": "--require evil", "npm_config_prefix": "/x", "Path": "/y"}
        servers = {f"s{at}": {"command": ["server", "y" * 20_000]} for at in range(50)}
        self.set_setting("agents", {"Own": {"command": command, "environment": variables}})
        self.set_setting("agents_mcp_servers", servers)
        consent = sublime.load_settings(CONSENT)
        self.addCleanup(consent.set, "allowed_servers", consent.get("allowed_servers"))
        yield from self.panel()
        self.assertLess(len(str(next(item for item in self.items if item.trigger == "Own").details)), 1000)
        self.screen.pick("Own")
        yield self.opened
        [asked] = self.asked
        self.assertLess(len(asked), 10_000)
        self.assertIn("own-agent xxx", asked)
        self.assertIn("… (388,010 more characters are not shown)", asked)
        self.assertIn("… and 40 more, which are not shown", asked)
        self.assertLess(asked.index("own-agent"), asked.index("It gets the variables NODE_OPTIONS "))
        self.assertLess(asked.index("Path (decides"), asked.index("KEY"))
        for named in (
            "NODE_OPTIONS (decides which code is loaded)",
            "npm_config_prefix (decides which programs run)",
            "Path (decides which programs run)",
        ):
            self.assertIn(named, asked)
        self.assertNotIn("the-secret", asked)

    def test_a_missing_program_gives_its_install_command(self) -> Steps:
        yield from self.panel()
        self.screen.pick("Gemini CLI")
        yield lambda: self.screen.said("npm install -g @google/gemini-cli")
        self.assertEqual(sublime.get_clipboard(), "npm install -g @google/gemini-cli")
        self.assertIsNone(self.opened())

    def test_a_file_can_be_added_once_an_agent_was_picked(self) -> Steps:
        command = loaded("sublime_text.chat.pickers").QwenCompanionChatAddCommand(self.window)
        self.assertFalse(command.is_visible())
        yield from self.panel()
        self.screen.pick("Own")
        yield self.opened
        self.assertTrue(command.is_visible())

    def test_a_project_can_not_set_what_is_run(self) -> Steps:
        self.window.set_project_data(
            {"folders": [{"path": str(self.folder)}], "settings": {"QwenCompanion": {"agents": OWN}}}
        )
        yield lambda: self.screen.said("“agents” can't be set for a project")


class TestAnotherCommand(AgentCase):
    """The command of an agent is another one in the settings, and a chat with it is open."""

    def open_chat(self) -> Steps:
        yield from super().open_chat()
        yield from self.panel()
        self.screen.pick("Own")
        yield self.opened
        self.chat = self.opened()
        yield from self.told("open")
        self.another = {"Own": {"command": ["another"]}}
        self.other = self.folder / "other"
        self.other.mkdir()
        self.window.set_project_data({"folders": [{"path": str(self.folder)}, {"path": str(self.other)}]})
        yield lambda: len(self.window.folders()) == 2

    def test_it_is_started_only_after_a_yes(self) -> Steps:
        for act in (self.adapter.chats.reconnect, lambda chat: self.adapter.chats.move(chat, str(self.other))):
            self.set_setting("agents", self.another)
            self.says_yes = False
            opened, asked = len(self.chats.of("open")), len(self.asked)
            act(self.chat)
            yield from self.settled()
            self.assertIn("another", self.asked[-1])
            self.assertEqual(len(self.asked), asked + 1)
            self.assertEqual((len(self.chats.of("open")), self.chats.of("reconnect")), (opened, []))
            self.assertEqual(self.chat.folder, str(self.folder))
        self.says_yes = True
        self.adapter.chats.reconnect(self.chat)
        yield from self.told("reconnect")
        [(number, agent)] = self.chats.of("reconnect")
        self.assertEqual((number, agent.command), (self.chat.id, ("another",)))
        self.assertEqual(self.chats.of("open")[-1][2], str(self.folder))
        for folder in (self.other, self.folder):
            self.adapter.chats.move(self.chat, str(folder))
            yield lambda folder=folder: self.chats.of("open")[-1][2] == str(folder)
            self.assertIn(f"in {self.other}", self.asked[-1], "each folder is asked about once")

    def test_one_that_is_gone_from_the_settings_connects_as_it_was(self) -> Steps:
        self.set_setting("agents", {})
        self.adapter.chats.clicks.clicked(self.chat, "reconnect")
        yield from self.told("reconnect")
        self.assertEqual(self.chats.of("reconnect"), [(self.chat.id, None)])
        self.assertEqual(len(self.asked), 1)


class TestNames(AgentCase):
    enabled = True

    def test_the_agent_says_its_name(self) -> Steps:
        self.window.run_command("qwen_companion_chat")
        yield self.opened
        self.chat = self.opened()
        snapshot = loaded("conversation.snapshot")
        self.locality = lambda: snapshot.Locality("this computer", str(self.folder), "2", agent="My Agent")
        self.show(self.message("Hi", "user"), self.message("Hello."))
        self.assertIn("◆\u00a0My Agent\nHello.", text_of(self.chat.view))
        self.assertNotIn("Qwen", text_of(self.chat.view))
        self.assertEqual(self.chat.view.name(), "[Q] My Agent")


class TestFiles(CompanionCase):
    def setUp(self) -> Steps:
        yield from super().setUp()
        self.adapter = loaded("sublime_text.package").adapter()

    def replace(self, path: Path, text: str, known: str | None = None) -> bool:
        return loaded("sublime_text.buffers").replace(str(path), text, known)

    def test_only_an_unsaved_text_is_the_editors(self) -> None:
        path = str(self.file)
        buffer = self.adapter.files.buffer
        self.assertIsNone(at_once(buffer, path))
        self.view.run_command("append", {"characters": "# mine\n"})
        self.assertEqual(at_once(buffer, path), text_of(self.view))
        self.assertIsNone(at_once(buffer, path + "x"))

    def test_an_open_file_is_replaced_in_one_step_and_saved(self) -> Steps:
        self.file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
        self.view.run_command("revert")
        yield lambda: text_of(self.view) == "one\ntwo\nthree\n"
        self.view.sel().clear()
        self.view.sel().add(self.view.text_point(2, 2))
        self.assertTrue(self.replace(self.file, "one\n2\n2b\nthree\n"))
        self.assertEqual(self.file.read_bytes(), b"one\r\n2\r\n2b\r\nthree\r\n")
        self.assertEqual(self.view.rowcol(self.view.sel()[0].b), (3, 2))
        self.view.run_command("undo")
        self.assertEqual(text_of(self.view), "one\ntwo\nthree\n")
        self.assertFalse(self.replace(self.folder / "none", ""))

    @skipIf(os.name == "nt", "links need rights there")
    def test_a_file_is_found_where_its_link_leads_now(self) -> Steps:
        """What was found out about a path when it was first asked for went on to count."""
        old, new, link = self.folder / "old", self.folder / "new", self.folder / "current"
        for folder in (old, new):
            folder.mkdir()
            (folder / "a.txt").write_text(folder.name)
        link.symlink_to(old)
        view = self.window.open_file(str(link / "a.txt"))
        yield lambda: not view.is_loading()
        self.assertTrue(self.replace(old / "a.txt", "mine"))
        link.unlink()
        link.symlink_to(new)
        self.assertFalse(self.replace(old / "a.txt", "theirs"))
        self.assertEqual(
            (text_of(view), (old / "a.txt").read_text(), (new / "a.txt").read_text()), ("mine", "mine", "new")
        )

    def test_what_an_agent_writes_keeps_its_tabs_and_its_blanks(self) -> None:
        """Byte for byte, whatever the person's settings make of what they type and save themselves."""
        own = {
            "translate_tabs_to_spaces": True,
            "trim_trailing_white_space_on_save": "all",
            "ensure_newline_at_eof_on_save": True,
        }
        self.view.settings().update(own)
        for text in ("all:\n\tmake it  \n", "all:\n\tmake it  \n\t\n\tend"):
            self.assertTrue(self.replace(self.file, text))
            self.assertEqual((self.file.read_text(), text_of(self.view)), (text, text))
        self.assertEqual({name: self.view.settings().get(name) for name in own}, own)

    def test_a_file_that_can_not_be_saved_is_as_it_was(self) -> None:
        """The agent is told, and the person saves nothing later that they don't know of."""
        before = text_of(self.view)
        # Sublime shows a message and leaves the text unsaved.
        saving = patch.object(sublime.View, "run_command", self._unsaved(sublime.View.run_command))
        with saving, self.assertRaisesRegex(OSError, "could not be saved"):
            self.replace(self.file, "theirs\n")
        self.assertEqual((text_of(self.view), self.view.is_dirty()), (before, False))
        self.view.run_command("append", {"characters": "# mine\n"})
        with saving, self.assertRaisesRegex(OSError, "could not be saved"):
            self.replace(self.file, "theirs\n", f"{before}# mine\n")
        self.assertEqual(text_of(self.view), f"{before}# mine\n")

    def test_an_unsaved_text_that_the_agent_does_not_know_is_not_replaced(self) -> None:
        """It was typed after the agent's text had been compared with that of the tab."""
        before = text_of(self.view)
        self.view.run_command("append", {"characters": "# mine\n"})
        for known in (None, before):
            with self.assertRaisesRegex(OSError, "has unsaved text"):
                self.replace(self.file, "theirs\n", known)
        self.assertEqual((text_of(self.view), self.file.read_text()), (f"{before}# mine\n", before))

    def _unsaved(self, run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda view, command, args=None: None if command == "save" else run(view, command, args)

    def test_a_file_outside_is_asked_about(self) -> None:
        asked: list[str] = []
        with patch.object(sublime, "ok_cancel_dialog", lambda text, *_: asked.append(text) or False):
            allowed = at_once(self.adapter.questions.may_touch, "Gemini CLI", "/etc/passwd", writes=False)
        self.assertFalse(allowed)
        self.assertIn("Gemini CLI wants to read a file outside the folder of the chat:\n\n    /etc/passwd", asked[0])


class Asking:
    """Stands for the chat that asks."""

    is_model = False

    def __init__(self, window: int) -> None:
        self.window = window
        self.cli = "My Agent"
        self.contents: list[str | None] = []

    def notify(self, outcome: Any) -> None:
        self.contents.append(outcome.content)


class TestEditedProposal(ChangesCase):
    """What the person has made of the diff is what the agent's file becomes."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.chat = Asking(self.window.id())
        path, chat = str(self.file), self.chat
        asked = loaded("review.review").Request("before\n" + FILE, is_editable=True)
        post = loaded("sublime_text.package").adapter().thread.post
        post(lambda companion: companion.reviews.open(chat, path, "before\n" + PROPOSAL, asked))
        yield lambda: diff_views(self.window, "proposal")
        [self.proposal] = diff_views(self.window, "proposal")
        yield lambda: self.proposal.get_regions(CHANGES) and self.screen.header(self.proposal)

    def test_the_edited_text_is_accepted(self) -> Steps:
        self.assertFalse(self.proposal.is_read_only())
        self.assertNotIn("read-only", self.screen.header(self.proposal))
        self.edit(self.proposal, "mine\n")
        edited = text_of(self.proposal)
        self.assertIn("mine", edited)
        self.command("accept_diff")
        yield lambda: self.chat.contents
        self.assertEqual(self.chat.contents, [edited])

    def test_an_unedited_text_is_accepted_as_it_came(self) -> Steps:
        self.command("accept_diff")
        yield lambda: self.chat.contents
        self.assertEqual(self.chat.contents, ["before\n" + PROPOSAL])

    def test_one_change_is_reverted(self) -> Steps:
        self.go()
        self.command("undo_change")
        yield lambda: text_of(self.proposal) != "before\n" + PROPOSAL
        self.command("accept_diff")
        yield lambda: self.chat.contents
        self.assertNotEqual(self.chat.contents, ["before\n" + PROPOSAL])
