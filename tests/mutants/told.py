"""Small mistakes in what a CLI and a chat are told, each with the tests that should notice it."""

from __future__ import annotations

from mutant import Mutant

TOLD = ("tests/unit/test_told.py",)
CONTEXT = ("tests/unit/server/test_context.py",)
WINDOWS = ("tests/unit/test_windows.py",)
CHATS = ("tests/unit/chats/test_chats_told.py",)


RULE = "told.py"
SETTINGS = "settings.py"
LISTED = "server/context.py"
WINDOW = "server/window.py"

MUTANTS = [
    # Which files are excluded
    Mutant("links are not followed", RULE, "return {plain, os.path.realpath(plain)}", "return {plain}", TOLD),
    Mutant(
        "only where a link leads counts",
        RULE,
        "return {plain, os.path.realpath(plain)}",
        "return {os.path.realpath(plain)}",
        TOLD,
    ),
    Mutant(
        "upper and lower case differ",
        RULE,
        "re.compile(translate(name), re.IGNORECASE)",
        "re.compile(translate(name))",
        TOLD,
    ),
    Mutant("two spellings of a letter differ", RULE, 'unicodedata.normalize("NFC", path)', "path", TOLD),
    Mutant("a glob matches at the beginning only", RULE, "range(len(names))", "[0]", TOLD),
    Mutant(
        "a glob matches a whole path only",
        RULE,
        "        if not at:\n            return False\n    return True",
        "        if not at:\n            return False\n    return len(names) in at",
        TOLD,
    ),
    Mutant(
        "** is one name", RULE, "at = set(range(min(at), len(names) + 1))", "at = {place + 1 for place in at}", TOLD
    ),
    Mutant(
        "a leading slash is never a folder of the window",
        RULE,
        "_runs(glob.names, names, [1, *below])",
        "_runs(glob.names, names, [1])",
        TOLD,
    ),
    # What can't be read
    Mutant("a broken glob is used as it is", RULE, "if not unreadable:", "if True:", TOLD),
    Mutant("a class without characters is a glob", RULE, '"(?!)" in translate(found[0])', "False", TOLD),
    Mutant("a glob may bring a file back", RULE, 'if glob.startswith("!"):', "if False:", TOLD),
    Mutant("a broken list drops the defaults", RULE, "*(DEFAULT_EXCLUDE if wrong else ())", "", TOLD),
    Mutant("a wrong context is the default", SETTINGS, 'in_projects=True, if_wrong="off"', "in_projects=True", TOLD),
    # Projects
    Mutant(
        "a project loosens the context",
        SETTINGS,
        "elif name == _CONTEXT and stricter(value, values[name]) != value:",
        "elif False:",
        TOLD,
    ),
    Mutant(
        "a project takes globs away",
        SETTINGS,
        "[*values[name], *_globs(value, file, problems)]",
        "_globs(value, file, problems)",
        TOLD,
    ),
    # What a CLI gets
    Mutant("excluded files are listed", LISTED, "if told.is_excluded(file.path, folders):", "if False:", CONTEXT),
    Mutant(
        "another file stands for an excluded one", LISTED, "hides_latest = hides_latest or not found", "pass", CONTEXT
    ),
    Mutant(
        "the selected text always goes",
        WINDOW,
        "if selection and not told.has_text:",
        "if False:",
        WINDOWS,
    ),
    Mutant(
        "the editor is asked for text that doesn't go",
        WINDOW,
        "MAX_SELECTED if told.has_text else 0",
        "MAX_SELECTED",
        WINDOWS,
    ),
    Mutant("files are listed though nothing is told", WINDOW, "if not told.has_files:", "if False:", WINDOWS),
    Mutant(
        "the folder of an excluded file is published",
        WINDOW,
        "for file in known.files))",
        "for file in state.files))",
        WINDOWS,
    ),
    # What a chat gets
    Mutant(
        "a prompt names excluded files",
        "chat/outbox.py",
        "        raise UnsendableError(why)\n    found",
        "        pass\n    found",
        CHATS,
    ),
    Mutant(
        "excluded files are offered",
        "chat/chats.py",
        "[path for path in found if not folder.refusal([path])]",
        "list(found)",
        CHATS,
    ),
    Mutant(
        "the globs of projects don't reach the chats",
        "companion.py",
        "self.chats.told_of = lambda window: self._settings_of(window).told",
        "pass",
        CHATS,
    ),
    Mutant(
        "an excluded file is sent to a terminal",
        "sublime_text/terminal/sending.py",
        "adapter.refusal(window, [one.path for one in named])",
        "None",
        ("tests/sublime/test_terminal.py::excluded",),
    ),
    Mutant(
        "an excluded file is added to a chat",
        "sublime_text/chat/pickers.py",
        "if why := adapter.refusal(chat.window, [path or name]):",
        "if why := None:",
        ("tests/sublime/test_chat_prompt.py::excluded",),
    ),
]
