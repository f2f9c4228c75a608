"""The libraries in the editor: what is said, and what Package Control is asked for. The rest is in tests/package."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from .companion_case import CompanionCase, Steps, at_once, loaded


class TestLibraries(CompanionCase):
    """Package Control is a stand-in: it is there, knows every repository, and does what a test says."""

    def setUp(self) -> Steps:
        yield from super().setUp()
        module = loaded("sublime_text.package_control")
        self.guard = loaded("libraries.guard")
        self.said: list[str] = []
        self.satisfied: list[bool] = []
        self.troubles: list[list[Any]] = []
        self.forgotten: list[set[str]] = []
        self.outcome: tuple[list[str], list[str]] = ([], [])
        adapter = loaded("sublime_text.package").adapter()
        self.over: list[str] = []
        messenger = SimpleNamespace(say=self.said.append, solved=self.settled)
        self.libraries = module.Libraries(
            SimpleNamespace(bridge=adapter.bridge, settings=adapter.settings, messenger=messenger)
        )
        control = loaded("sublime_text.package_control")
        for target, name, value in (
            (control, "is_there", lambda: True),
            (control, "knows", lambda repository: True),
            (control, "satisfy", lambda: self.satisfied.append(True)),
            (control, "is_satisfying", lambda: False),
            (module, "LOOK", 0.01),
            (module, "QUIET", 0.05),
            (self.guard, "look", lambda: self.troubles.pop(0) if len(self.troubles) > 1 else self.troubles[0]),
            (self.guard, "uninstall", self.uninstall),
        ):
            self.enterContext(patch.object(target, name, value))
        self.addCleanup(self.libraries.close)

    def settled(self, message: str, problems: list[str]) -> None:
        self.said.append(message)
        self.over += problems

    def uninstall(self, names: set[str]) -> tuple[list[str], list[str]]:
        self.forgotten.append(set(names))
        return self.outcome

    def trouble(self, kind: str = "mismatch", *libraries: str) -> Any:
        return self.guard.Trouble(kind, libraries or ("one",), f"{kind} of one")

    def repair(self) -> Steps:
        self.libraries.repair(self.window)
        yield lambda: self.said

    def test_a_message_has_the_name_of_the_package_once(self) -> Steps:
        notices = loaded("sublime_text.panels").NOTICES
        notices.add("QwenCompanion needs one 2.", self.window)
        notices.add("The libraries are in order.", self.window)
        self.assertEqual(
            self.screen.messages[-2:], ["QwenCompanion needs one 2.", "QwenCompanion: The libraries are in order."]
        )
        yield 0

    def test_what_is_wrong_is_installed_anew(self) -> Steps:
        self.troubles = [[self.trouble("mismatch", "one", "two"), self.trouble("damaged", "three")], []]
        yield from self.repair()
        self.assertEqual(self.forgotten, [{"one", "two", "three"}])
        self.assertEqual(self.said, ["The libraries are installed."])
        yield lambda: self.satisfied

    def test_a_file_that_is_in_use_wants_a_restart_and_nothing_is_installed_before(self) -> Steps:
        """On Windows: Package Control would stop half way. It installs what is missing at the next start."""
        self.troubles = [[self.trouble()]]
        self.outcome = ["pydantic-core"], []
        yield from self.repair()
        sentence = "Restart Sublime Text: pydantic-core is in use and will be reinstalled at the next start."
        self.assertEqual(self.said, [sentence])
        self.assertFalse(self.satisfied)

    def test_what_can_not_be_removed_is_said(self) -> Steps:
        self.troubles = [[self.trouble()]]
        self.outcome = [], ["one"]
        yield from self.repair()
        self.assertEqual(self.said, ["one can't be removed, so Package Control does not reinstall it."])
        self.assertFalse(self.satisfied)

    def test_what_package_control_does_not_mend_is_said(self) -> Steps:
        self.troubles = [[self.trouble()]]
        yield from self.repair()
        self.assertEqual(
            self.said, ["Package Control could not repair it: mismatch of one. Sublime's console says why."]
        )

    def test_a_library_that_is_loaded_in_another_version_wants_a_restart(self) -> Steps:
        self.troubles = [[self.trouble()], [self.trouble("loaded")]]
        yield from self.repair()
        self.assertEqual(self.said, ["Restart Sublime Text: loaded of one."])

    def test_an_import_that_failed_has_its_library_installed_anew(self) -> Steps:
        """Though all of its files are there."""
        at_once(self.libraries.wrong, self.trouble("damaged", "seven"))
        [problem] = self.said
        self.said.clear()
        self.troubles = [[]]
        yield from self.repair()
        self.assertEqual(self.forgotten, [{"seven"}])
        self.assertEqual(self.said, ["The libraries are installed."])
        self.assertEqual(self.over, [problem])

    def test_nothing_is_done_where_nothing_is_wrong(self) -> Steps:
        self.troubles = [[]]
        yield from self.repair()
        self.assertEqual(self.said, ["The libraries are in order."])
        self.assertEqual(self.forgotten, [])

    def test_package_control_is_asked_for_only_if_a_library_is_wrong(self) -> Steps:
        with patch.object(loaded("sublime_text.package_control"), "is_there", lambda: False):
            self.troubles = [[]]
            yield from self.repair()
            yield lambda: not self.libraries._repair.is_alive()
            self.assertEqual(self.said, ["The libraries are in order."])
            self.said.clear()
            self.troubles = [[self.trouble()]]
            yield from self.repair()
            self.assertIn("Install Package Control from", self.said[0])
        self.assertEqual(self.forgotten, [])

    def test_one_repair_runs_at_a_time(self) -> Steps:
        self.troubles = [[self.trouble()]]
        with patch.object(loaded("sublime_text.package_control"), "QUIET", 600.0):
            self.libraries.repair(self.window)
            self.libraries.repair(self.window)
            yield lambda: self.screen.said("The libraries are being installed already.")
            self.libraries.close()
            yield lambda: not self.libraries._repair.is_alive()
        self.assertEqual(self.said, [])

    def test_a_warning_goes_with_its_repair(self) -> Steps:
        """The status bar asks for nothing any more, and the good news asks for nothing either."""
        adapter = loaded("sublime_text.package").adapter()
        log, notices = loaded("sublime_text.panels").NOTICES, adapter.messenger
        notices.seen(self.window)
        libraries = loaded("sublime_text.package_control").Libraries(adapter)
        self.addCleanup(libraries.close)
        at_once(libraries.wrong, self.trouble("damaged", "seven"))
        yield lambda: len(notices.within(self.window)) == 1
        self.troubles = [[]]
        libraries.repair(self.window)
        yield lambda: log.text().endswith("The libraries are installed.\n")
        self.assertEqual(notices.within(self.window), [])
