"""Loading, reloading and unloading plugins, by the editor's rules."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headless.hooks import EVENT_LISTENER, TEXT_CHANGE_LISTENER, VIEW_EVENT_LISTENER
from headless.importer import PackageFinder, UnloadedFinder
from headless.loop import guarded, notify, report_exception
from headless.packages import Package, open_source

if TYPE_CHECKING:
    from headless.editor import Editor


@dataclass
class Plugin:
    """A loaded root module and what it has registered."""

    module: ModuleType
    classes: list[type[Any]] = field(default_factory=list)
    listeners: list[Any] = field(default_factory=list)


class PackageLoader:
    """The packages of the editor that have plugins."""

    def __init__(self, app: Editor) -> None:
        self._app = app
        self._finder = PackageFinder()
        self._unloaded = UnloadedFinder(app.packages.get)
        self._plugins: dict[str, Plugin] = {}
        self._packages: dict[str, Package] = {}

    # -- packages ------------------------------------------------------------------------------

    def add(self, path: str, name: str | None = None) -> list[str]:
        """Load the package at `path`; returns the names of its modules that could not be loaded."""
        source = open_source(os.path.abspath(path))
        stem = os.path.basename(source.root)
        name = name or (stem if os.path.isdir(source.root) else os.path.splitext(stem)[0])
        package = self._app.packages.add(name, source)
        self._packages[name] = package
        self._finder.add(package)
        self._app.settings.packages_changed()
        modules = [f"{name}.{module}" for module in package.plugins()]
        return [module for module in modules if not self.load(module)]

    def add_folder(self, name: str, folder: str) -> None:
        """Make a folder from elsewhere importable as a sub-package of a package."""
        self._finder.add_folder(name, folder)

    def remove(self, name: str) -> None:
        """Unload a package, as when it is disabled or removed."""
        for module in [m for m in self._plugins if m.partition(".")[0] == name]:
            print(f"unloading plugin {module}")
            # Only the root modules are unloaded. What they have imported stays, and is used if the package comes back.
            sys.modules.pop(module, None)
            self.unload(module)
        self._finder.remove(name)
        self._packages.pop(name, None)
        self._app.packages.remove(name)
        self._app.settings.packages_changed()

    def reload_package(self, name: str | None = None) -> None:
        """Reload the root modules of a package, as when each of them is saved."""
        importlib.invalidate_caches()
        self._app.settings.packages_changed()
        for package in list(self._packages.values()):
            if name in (None, package.name):
                for module in package.plugins():
                    self.load(f"{package.name}.{module}")

    def file_saved(self, path: str) -> None:
        """Reload the root module whose file has been saved, if it is one."""
        for package in self._packages.values():
            for module in package.plugins():
                file = os.path.join(package.sources[0].root, module + ".py")
                if os.path.normcase(os.path.abspath(path)) == os.path.normcase(file):
                    importlib.invalidate_caches()
                    self.load(f"{package.name}.{module}")

    def forget_modules(self) -> None:
        """For tests: take the packages' modules out of `sys.modules`."""
        self._unloaded.close()
        for name in [*self._packages, "Default"]:
            self._finder.remove(name)
            _forget(name)

    # -- modules -------------------------------------------------------------------------------

    def load(self, name: str) -> bool:
        """Import or reimport a root module; False if it raised or has a listener that can't be registered."""
        self.unload(name)
        print(f"reloading plugin {name}")
        # Still there if it has been unloaded, or if the last import has failed half-way.
        old = sys.modules.get(name)
        try:
            module = importlib.reload(old) if old is not None else importlib.import_module(name)
            plugin = Plugin(module)
            self._register(plugin)
        except Exception:
            print(f"reloading plugin {name} failed", file=sys.stderr)
            report_exception()
            return False
        self._plugins[name] = plugin
        # Listeners hear what plugin_loaded does; the commands are there only after it.
        self._app.listeners.global_ += plugin.listeners
        notify(module, "plugin_loaded")
        self._create_listeners(plugin)
        return True

    def unload(self, name: str) -> None:
        """Call `plugin_unloaded` and unregister all that the module had registered."""
        plugin = self._plugins.pop(name, None)
        if plugin is None:
            return
        notify(plugin.module, "plugin_unloaded")
        self._app.commands.forget(plugin.classes)
        self._app.listeners.remove(plugin.listeners, plugin.classes)

    def _register(self, plugin: Plugin) -> None:
        """Find the module's classes and make its global listeners.

        Raises KeyError for a listener class that inherits a callback: the editor's host wraps each callback of the
        class itself, and does not look for it in the bases.
        """
        import sublime_plugin

        module = plugin.module
        exported = getattr(module, "__all__", None)
        listeners = {
            sublime_plugin.EventListener: EVENT_LISTENER,
            sublime_plugin.ViewEventListener: VIEW_EVENT_LISTENER,
            sublime_plugin.TextChangeListener: TEXT_CHANGE_LISTENER,
        }
        commands = (sublime_plugin.ApplicationCommand, sublime_plugin.WindowCommand, sublime_plugin.TextCommand)
        bases = (*commands, *listeners)
        for name, cls in list(vars(module).items()):
            if name not in exported if exported is not None else name.startswith("_"):
                continue
            if not isinstance(cls, type) or not issubclass(cls, bases) or cls in bases:
                continue
            plugin.classes.append(cls)
            # A class is of one kind only: a command is never a listener too.
            base = next(each for each in bases if issubclass(cls, each))
            if base in listeners:
                _check_callbacks(cls, listeners[base])
            if base is sublime_plugin.EventListener:
                plugin.listeners.append(cls())

    def _register_commands(self, plugin: Plugin) -> None:
        import sublime_plugin

        commands = self._app.commands
        for cls in plugin.classes:
            if issubclass(cls, sublime_plugin.ApplicationCommand):
                instance = guarded(cls)
                if instance is not None:
                    commands.application[instance.name()] = instance
            elif issubclass(cls, sublime_plugin.WindowCommand):
                commands.window[command_name(cls)] = cls
            elif issubclass(cls, sublime_plugin.TextCommand):
                commands.text[command_name(cls)] = cls

    def _create_listeners(self, plugin: Plugin) -> None:
        """Register the commands, make the listeners of views and buffers, and tell all new ones what is there."""
        import sublime_plugin

        self._register_commands(plugin)
        app = self._app
        app.listeners.global_ += [each for each in plugin.listeners if each not in app.listeners.global_]
        for cls in plugin.classes:
            if issubclass(cls, sublime_plugin.ViewEventListener):
                app.listeners.view_classes.append(cls)
            elif issubclass(cls, sublime_plugin.TextChangeListener):
                app.listeners.text_classes.append(cls)
        app.listeners.attach_all()
        self._initialize(plugin)
        self._activate(plugin)

    def _initialize(self, plugin: Plugin) -> None:
        """Call on_new_buffer and on_init for what is open.

        Once the editor runs, only the listeners whose class is defined in the root module itself are told.
        """
        app = self._app

        def is_told(listener: Any) -> bool:
            return not app.started or type(listener).__module__ == plugin.module.__name__

        told = [listener for listener in plugin.listeners if is_told(listener)]
        for listener in told:
            for buffer in app.listeners.buffers():
                handle = app.buffer_handle(buffer)
                notify(listener, "on_new_buffer", handle)
                app.loop.worker.post(lambda each=listener, b=handle: notify(each, "on_new_buffer_async", b))
        views = [view for view in app.views.values() if not view.buffer.loading]
        for listener in told:
            notify(listener, "on_init", [app.view_handle(view) for view in views])
        for view in views:
            for listener in list(app.listeners.by_view.get(view.id, ())):
                if type(listener) in plugin.classes and is_told(listener):
                    notify(listener, "on_init")

    def _activate(self, plugin: Plugin) -> None:
        """The synthetic on_activated: new listeners learn which view is the active window's."""
        window = self._app.active_window()
        view = window.active_view if window else None
        if view is None or not plugin.classes:
            return
        handle = self._app.view_handle(view)
        own = [each for each in self._app.listeners.by_view.get(view.id, ()) if type(each) in plugin.classes]
        told = [*((each, (handle,)) for each in plugin.listeners), *((each, ()) for each in own)]
        for listener, first in told:
            notify(listener, "on_activated", *first)
        for listener, first in told:
            self._app.loop.worker.post(lambda each=listener, to=first: notify(each, "on_activated_async", *to))


def _check_callbacks(cls: type[Any], callbacks: Iterable[str]) -> None:
    for name in callbacks:
        if hasattr(cls, name) and name not in vars(cls):
            raise KeyError(f"{cls.__module__}.{cls.__name__} inherits {name}")


def command_name(cls: type[Any]) -> str:
    """The name of a command class; `name` is asked of an instance without a window or view."""
    return str(cls.name(object.__new__(cls)))


def _forget(package: str) -> None:
    for name in list(sys.modules):
        if name == package or name.startswith(package + "."):
            del sys.modules[name]
