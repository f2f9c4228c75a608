"""Installing an agent from the registry: the list, the question before anything is done, and New Chat With…."""

from __future__ import annotations

import hashlib
import html
import http.server
import io
import json
import os
import shutil
import tarfile
import tempfile
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sublime

from .companion_case import CompanionCase, Steps, loaded

AGENTS = "QwenCompanion Agents.sublime-settings"
PROGRAM = b"#!/bin/sh\n"


def archive() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        info = tarfile.TarInfo("own-agent")
        info.size = len(PROGRAM)
        tar.addfile(info, io.BytesIO(PROGRAM))
    return made.getvalue()


class InstallCase(CompanionCase):
    """A registry on loopback, whose list each test makes."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        self.adapter = loaded("sublime_text.package").adapter()
        self.pages: dict[str, bytes] = {}
        pages = self.pages

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = pages.get(self.path)
                self.send_response(404 if content is None else 200)
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: Any) -> None:  # type: ignore[override]
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.address = f"http://127.0.0.1:{server.server_port}"
        self.place = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        paths = loaded("platforms.paths")
        for name in ("cache", "data"):
            self.start(patch.object(paths, f"user_{name}", lambda *_, name=name: str(self.place / name)))
        self.saved: list[str] = []
        self.start(patch.object(sublime, "save_settings", self.saved.append))
        self.asked: list[str] = []
        self.says_yes = True
        self.start(patch.object(sublime, "ok_cancel_dialog", self._asked))
        agents = sublime.load_settings(AGENTS)
        for name in ("allowed", "installed"):
            self.addCleanup(agents.set, name, agents.get(name))
            agents.erase(name)
        address = f"{self.address}/registry.json"
        self.adapter.thread.post(lambda companion: setattr(companion.registry, "_address", address))

    def start(self, patched: Any) -> None:
        patched.start()
        self.addCleanup(patched.stop)

    def _asked(self, text: str, *_: Any) -> bool:
        self.asked.append(text)
        return self.says_yes

    def serve(self, *entries: dict[str, Any]) -> None:
        self.pages["/registry.json"] = json.dumps({"version": "1.0.0", "agents": entries}).encode()

    def own(self, version: str = "1.0.0") -> dict[str, Any]:
        """An agent whose archive is on loopback."""
        data = self.pages["/own.tgz"] = archive()
        system = loaded("registry.entries").system()
        target = {"archive": f"{self.address}/own.tgz", "cmd": "./own-agent", "args": ["--acp"]}
        target["sha256"] = hashlib.sha256(data).hexdigest()
        return self.entry("own", version, {"binary": {system: target}})

    @staticmethod
    def entry(identifier: str, version: str, distribution: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": identifier,
            "name": f"The <{identifier}>",
            "version": version,
            "description": "Does & says",
            "repository": "https://example.com/own",
            "license": "MIT",
            "distribution": distribution,
        }

    def panel(self, command: str = "qwen_companion_install_agent", **arguments: Any) -> Steps:
        before = len(self.screen.panels)
        self.window.run_command(command, arguments)
        yield lambda: len(self.screen.panels) > before
        self.items = {item.trigger: item for item in self.screen.panels[-1][0]}

    def installed(self) -> dict[str, Any]:
        installed: Any = sublime.load_settings(AGENTS).get("installed")
        return installed or {}


class TestInstalling(InstallCase):
    def test_the_list_says_what_an_agent_is_and_where_it_comes_from(self) -> Steps:
        self.serve(
            self.own(), self.entry("elsewhere", "2.0.0", {"binary": {"darwin-none": {}}, "uvx": {"package": "e"}})
        )
        yield from self.panel()
        item = self.items["The <own>"]
        details = [html.unescape(line) for line in item.details]
        self.assertEqual(details, ["Does & says", "1.0.0 · MIT · example.com/own"])
        self.assertEqual(item.kind[1], "T")
        self.assertIn("Download the List Again", self.items)
        self.assertEqual(self.asked, [])

    def test_nothing_is_downloaded_or_kept_without_a_yes_that_shows_it(self) -> Steps:
        self.serve(self.own())
        self.says_yes = False
        yield from self.panel()
        self.screen.pick("The <own>")
        yield lambda: self.asked
        [question] = self.asked
        for part in (f"{self.address}/own.tgz", "SHA-256", "own-agent --acp", "MIT", "example.com/own", "1.0.0"):
            self.assertIn(part, question)
        self.assertEqual((self.installed(), self.saved), ({}, []))
        self.assertFalse((self.place / "data").exists())

    def test_an_agent_that_was_installed_is_in_new_chat_with(self) -> Steps:
        self.serve(self.own())
        yield from self.panel()
        self.screen.pick("The <own>")
        yield lambda: self.screen.said("is installed")
        program = os.path.join(self.place, "data", "agents", "own", "1.0.0", "own-agent")
        self.assertTrue(os.access(program, os.X_OK))
        self.assertEqual(self.installed()["own"]["command"], [program, "--acp"])
        yield from self.panel("qwen_companion_chat_with")
        self.assertEqual(self.items["The <own>"].annotation, "")
        self.assertIn("Install an Agent…", self.items)
        self.assertTrue(self.adapter.consent.allows("The <own>"))
        self.assertEqual(len(self.asked), 1)

    def test_it_is_updated_and_removed(self) -> Steps:
        self.serve(self.own())
        yield from self.panel()
        self.screen.pick("The <own>")
        yield lambda: self.screen.said("1.0.0 is installed")
        self.serve(self.own("1.1.0"))
        yield from self.panel(anew=True)
        self.assertEqual(self.items["The <own>"].annotation, "update from 1.0.0")
        before = len(self.screen.panels)
        self.screen.pick("The <own>")
        yield lambda: len(self.screen.panels) > before
        self.screen.pick("Update to 1.1.0")
        yield lambda: self.screen.said("1.1.0 is installed")
        self.assertIn("1.1.0", self.asked[-1])
        self.assertEqual(self.installed()["own"]["version"], "1.1.0")
        yield from self.panel()
        self.assertEqual(self.items["The <own>"].annotation, "installed")
        before = len(self.screen.panels)
        self.screen.pick("The <own>")
        yield lambda: len(self.screen.panels) > before
        self.screen.pick("Remove")
        yield lambda: self.screen.said("is removed")
        self.assertEqual(self.installed(), {})
        self.assertFalse((self.place / "data" / "agents" / "own").exists())
        self.assertIsNone(self.adapter.consent.find("The <own>"))

    def test_an_older_version_than_the_installed_one_is_a_way_back(self) -> Steps:
        self.serve(self.own("1.10.0"))
        yield from self.panel()
        self.screen.pick("The <own>")
        yield lambda: self.screen.said("1.10.0 is installed")
        self.serve(self.own("1.9.0"))
        yield from self.panel(anew=True)
        self.assertEqual(self.items["The <own>"].annotation, "installed")
        before = len(self.screen.panels)
        self.screen.pick("The <own>")
        yield lambda: len(self.screen.panels) > before
        self.screen.pick("Go Back to 1.9.0")
        yield lambda: self.screen.said("1.9.0 is installed")
        self.assertEqual(self.installed()["own"]["version"], "1.9.0")

    def test_an_archive_that_is_refused_installs_nothing(self) -> Steps:
        self.serve(self.own())
        self.pages["/own.tgz"] = b"another one"
        yield from self.panel()
        self.screen.pick("The <own>")
        yield lambda: self.screen.said("The archive is refused")
        self.assertEqual(self.installed(), {})

    def test_a_registry_that_can_not_be_reached_is_one_sentence_and_the_copy_is_shown(self) -> Steps:
        yield from self.panel()
        self.assertIn("Claude Agent", self.items)
        yield lambda: self.screen.said("it answers 404", ", the one that came with the package")

    def test_a_project_can_install_nothing(self) -> Steps:
        entry = {"name": "Evil", "version": "1", "command": ["evil"], "folder": ""}
        mine = {"QwenCompanion": {"installed": {"evil": entry}}}
        self.window.set_project_data({"folders": [{"path": str(self.folder)}], "settings": mine})
        yield lambda: self.screen.said("“installed” is not a setting")
        self.assertIsNone(self.adapter.consent.find("Evil"))

    def test_the_person_s_own_setting_comes_before_what_is_installed(self) -> Steps:
        self.serve(self.own())
        yield from self.panel()
        self.screen.pick("The <own>")
        yield lambda: self.screen.said("is installed")
        self.set_setting("agents", {"The <own>": {"command": ["mine"]}})
        yield lambda: self.adapter.consent.find("The <own>").command == ("mine",)
        self.assertFalse(self.adapter.consent.allows("The <own>"))
        self.set_setting("agents", {"The <own>": None})
        yield lambda: self.adapter.consent.find("The <own>") is None
