"""Installing an agent from the registry: the list in a panel, and the question before anything is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import sublime
import sublime_plugin

from ..agents import AgentCommand, InstalledAgent
from ..editor import WindowId
from ..registry.entries import WHERE, ArchiveSource, is_newer, system
from . import package
from .chat.chat_commands import is_chat_on
from .minihtml import safe
from .panels import PanelItem, choose, say

if TYPE_CHECKING:
    from ..registry.entries import InstallPlan, RegistryEntry
    from ..registry.registry import AgentListing
    from .adapter import Adapter


COPY = "Packages/QwenCompanion/companion/registry/registry.json"
"""The list that comes with the package."""
_AGENT = (sublime.KindId.COLOR_BLUISH, "Agent")


class QwenCompanionInstallAgentCommand(sublime_plugin.WindowCommand):
    """Install an agent of the Agent Client Protocol's registry, update it or remove it."""

    def is_visible(self, anew: bool = False) -> bool:
        """Whether the person chats at all, or has installed an agent."""
        adapter = package.adapter()
        is_on = is_chat_on(self.window) or (adapter is not None and bool(adapter.settings.installed))
        return is_on and package.is_set_up_here(self.window.active_view())

    def run(self, anew: bool = False) -> None:
        """Show the list; with `anew` one that is downloaded now."""
        adapter = package.adapter()
        if adapter is None:
            return
        say(self.window, "Getting the list of agents…")
        copy = sublime.load_binary_resource(COPY)
        adapter.ask_later(
            self.window,
            lambda companion: companion.registry.look(copy, anew=anew),
            lambda listing: AgentList(adapter, self.window, listing).show(),
        )


class AgentList:
    """The list of agents in a window, and what the person does with one."""

    def __init__(self, adapter: Adapter, window: sublime.Window, listing: AgentListing) -> None:
        self._adapter = adapter
        self._window = window
        self._listing = listing
        self._installed = adapter.settings.installed

    def show(self) -> None:
        """Ask which. What can be updated comes first, what this computer can't have last."""
        entries = sorted(self._listing.entries, key=self._rank)
        items = [self._item(entry) for entry in entries]
        again = sublime.QuickPanelItem("Download the List Again", safe(f"This list is {self._from()}"))

        def chosen(index: int) -> None:
            if index == len(entries):
                self._window.run_command("qwen_companion_install_agent", {"anew": True})
            elif index >= 0:
                # Only after the panel has closed: the choice opens a dialog or a panel.
                sublime.set_timeout(lambda: self._picked(entries[index]))

        self._window.show_quick_panel([*items, again], chosen, placeholder=f"{len(entries)} agents to install")
        if self._listing.why:
            say(self._window, f"{self._listing.why} The list is {self._from()}.")

    def _rank(self, entry: RegistryEntry) -> int:
        if entry.id in self._installed:
            return 0 if self._has_update(entry) else 1
        return 2 if entry.id in self._listing.plans else 3

    def _has_update(self, entry: RegistryEntry) -> bool:
        return entry.id in self._listing.plans and is_newer(entry.version, self._installed[entry.id].version)

    def _item(self, entry: RegistryEntry) -> sublime.QuickPanelItem:
        facts = " · ".join(filter(None, (entry.version, entry.license, entry.source)))
        kind = (_AGENT[0], entry.name[:1].upper(), _AGENT[1])
        details = [safe(entry.description), safe(facts)]
        return sublime.QuickPanelItem(entry.name, details, self._state(entry), kind)

    def _state(self, entry: RegistryEntry) -> str:
        if (installed := self._installed.get(entry.id)) is not None:
            return f"update from {installed.version}" if self._has_update(entry) else "installed"
        if (plan := self._listing.plans.get(entry.id)) is None:
            return "not for this computer"
        return "" if self._is_possible(plan) else f"needs {plan.runner}"

    def _is_possible(self, plan: InstallPlan) -> bool:
        return plan.runner is None or plan.runner in self._listing.there

    def _from(self) -> str:
        if not self._listing.at:
            day = f"of {self._listing.day}, " if self._listing.day else ""
            return f"{day}the one that came with the package"
        return time.strftime("of %Y-%m-%d %H:%M", time.localtime(self._listing.at))

    def _picked(self, entry: RegistryEntry) -> None:
        plan = self._listing.plans.get(entry.id)
        if entry.id in self._installed:
            choices: list[PanelItem] = []
            if plan and self._has_update(entry):
                choices.append((f"Update to {entry.version}", safe(entry.source), lambda: self._ask(plan)))
            elif plan:
                is_older = is_newer(self._installed[entry.id].version, entry.version)
                words = f"Go Back to {entry.version}" if is_older else "Install Again"
                choices.append((words, safe(entry.source), lambda: self._ask(plan)))
            details = "What it keeps itself, such as a sign-in, stays"
            choices.append(("Remove", details, lambda: self._remove(self._installed[entry.id])))
            choose(self._window, choices, entry.name)
        elif plan is None:
            where = system() or "this computer"
            say(self._window, f"The registry has no {entry.name} for {where}.")
        else:
            self._ask(plan)

    def _ask(self, plan: InstallPlan) -> None:
        """Do what a plan says, if the person wants that."""
        entry, runner = plan.entry, plan.runner
        if runner and not self._is_possible(plan):
            say(self._window, f"{entry.name} is started by {runner}, which isn't found. Install {WHERE[runner]} first.")
            return
        name = self._name(entry)
        known = next((agent for agent in self._adapter.settings.daemon().agents if agent.name == name), None)
        replaces = (
            f"It replaces the {name} that is set up now.\n\n" if known and entry.id not in self._installed else ""
        )
        question = (
            f"Install {name} {entry.version}?\n\n{entry.description}\n\n"
            f"Licence: {' · '.join(filter(None, (entry.license or 'not said', entry.license_url)))}\n"
            f"From: {entry.source}\n\n{plan.words}\n\n{replaces}"
            "It will run on this computer with your rights, but not before you begin a chat with it."
        )
        if sublime.ok_cancel_dialog(question, "Install", "QwenCompanion"):
            self._install(plan, name)

    def _name(self, entry: RegistryEntry) -> str:
        """What the agent is called here: no two that are installed have the same name."""
        taken = {each.agent.name for each in self._installed.values() if each.id != entry.id}
        return f"{entry.name} ({entry.id})" if entry.name in taken else entry.name

    def _install(self, plan: InstallPlan, name: str) -> None:
        entry, identifier, before = plan.entry, self._window.id(), self._installed.get(plan.entry.id)
        folder = plan.folder if isinstance(plan.source, ArchiveSource) else ""
        agent = AgentCommand(name, plan.command, dict(plan.source.environment))
        if not plan.runner:
            say(self._window, f"{name} is being downloaded…")

        def done(_: object) -> None:
            self._adapter.settings.keep_installed(entry.id, InstalledAgent(entry.id, entry.version, agent, folder))
            self._adapter.consent.allow(agent)
            say(self._window, f"{name} {entry.version} is installed. “New Chat With…” has it.")

        keep = before.folder if before else ""
        self._adapter.ask_later(
            self._window, lambda companion: companion.registry.install(plan, WindowId(identifier), keep), done
        )

    def _remove(self, installed: InstalledAgent) -> None:
        # Even if a file of it can't be removed, it is not to be started any more.
        self._adapter.settings.keep_installed(installed.id, None)
        # A package may have taken the place of an archive that ran then.
        self._adapter.ask_later(
            self._window,
            lambda companion: companion.registry.remove(installed.id),
            lambda _: say(self._window, f"{installed.agent.name} is removed."),
        )
