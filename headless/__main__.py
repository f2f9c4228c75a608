"""`python -m headless`: an editor with a package, driven by JSON lines."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from headless import modules, session
from headless.app import Application
from headless.control import Channel, Server, captured_console, leave, private_stdout


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        prog="headless-sublime run", description="Sublime Text's plugin host without Sublime Text."
    )
    result.add_argument("--folder", action="append", default=[], help="a folder of the first window")
    result.add_argument("--package", default=".", help="a package's folder or zip (default: this folder)")
    result.add_argument("--also", action="append", default=[], help="a further package, loaded before")
    result.add_argument("--name", help="the package's name (default: from its path)")
    result.add_argument("--no-window", action="store_true", help="start without a window")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the editor, serve until told to quit, and leave."""
    options = parser().parse_args(arguments)
    channel = Channel(private_stdout())
    stdin = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
    with captured_console(channel):
        modules.install()
        app = Application()
        if not options.no_window:
            session.restore(app, app.new_window(options.folder))
        for other in options.also:
            app.loader.add(other)
        app.loader.add(options.package, options.name)
        windows = [{"id": window.id, "folders": window.folders} for window in app.windows]
        app.loop.post(lambda: channel.send({"event": "ready", "windows": windows}))
        Server(app, channel, stdin).start()
        app.start()
        app.loop.run()
        session.save(app)
        leave(app, (sys.stdout.flush, sys.stderr.flush))


if __name__ == "__main__":
    main()
