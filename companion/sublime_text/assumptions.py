"""What the package assumes about the editor, and what it does where an assumption does not hold.

Each one is tried by the probe of its name in `check`. docs/real-editor.md lists them with their sources.
`UNTOLD` has those that no check can try.
"""

from __future__ import annotations

from typing import NamedTuple


class Assumption(NamedTuple):
    """Something that the editor does or does not do."""

    claim: str
    """A sentence that says what the editor does."""
    otherwise: str
    """A sentence that says what the package does if it does not, or if nobody knows."""


ASSUMPTIONS: dict[str, Assumption] = {
    # Texts
    "insert_keeps_characters": Assumption(
        "A text that is put into a view keeps its tabs, line separators and control characters.",
        "A proposal that the view cannot hold is not editable, and its unedited text is what is accepted.",
    ),
    "insert_keeps_nul": Assumption(
        "A text that is put into a view keeps its NUL characters.",
        "A proposal that the view cannot hold is not editable, and its unedited text is what is accepted.",
    ),
    "replace_keeps_carets": Assumption(
        "An insertion by `View.replace` at a caret selects nothing.",
        "The package inserts by `View.insert`, or sets the carets afterwards.",
    ),
    "replace_keeps_regions": Assumption(
        "An empty region stays empty when `View.replace` inserts a text there.",
        "The marks of a diff are drawn again after each edit, so they are right after a moment.",
    ),
    "modified_during_command": Assumption(
        "`on_modified` comes while the command that edits runs.",
        "Nothing depends on it: the marks and the prompt follow after the command.",
    ),
    "nested_modified_at_once": Assumption(
        "An edit that is made in `on_modified` is told at once.",
        "Nothing depends on it: the package edits no view in `on_modified`.",
    ),
    "typed_letters_one_step": Assumption(
        "Letters that are typed one after the other are undone together.",
        "Undoing in a proposal takes back one letter at a time.",
    ),
    "rewritten_command_asked": Assumption(
        "Listeners are asked about a command by which another listener replaced one.",
        "Nothing depends on it: the package puts in place only commands that it does not replace itself.",
    ),
    "text_listener_during_edit": Assumption(
        "A text listener that is attached by hand hears an edit while it runs.",
        "The transcript of a chat is restored a moment later if something edits it.",
    ),
    "phantom_moves_at_insertion": Assumption(
        "A phantom moves behind a text that is inserted at its place.",
        "The bar of a chat is put into its place again with the next update.",
    ),
    "fold_stays_at_insertion": Assumption(
        "A text that is inserted at the end of a fold is not folded.",
        "The folds of a chat are corrected after each update.",
    ),
    # Layout and colours
    "filler_height": Assumption(
        "A phantom of a given height is as high, within a pixel.",
        "The two sides of a diff scroll by their content and not by their height.",
    ),
    "viewport_at_once": Assumption(
        "`View.viewport_position` gives the position that was just set.",
        "A position that was just set does not count as scrolling by the person.",
    ),
    "inline_diff_shown": Assumption(
        "`toggle_inline_diff` shows the removed lines of a changed view.",
        "Phantoms of the package show the removed lines.",
    ),
    "reference_compared": Assumption(
        "The gutter compares with the text of `View.set_reference_document`.",
        "The gutter of a file under review compares with git. *keep* and *undo* stand where the changes are.",
    ),
    "reference_over_reload": Assumption(
        "The gutter still compares with that text after the file was loaded again.",
        "The gutter compares with git until the changes of the file are shown again.",
    ),
    "reference_reset": Assumption(
        "After `View.reset_reference_document` the gutter of a file without git shows no change.",
        "The gutter shows the last baseline until the file is opened again.",
    ),
    "diff_colours": Assumption(
        "The colour scheme gives added and removed text colours of their own.",
        "The gutter and the header still tell the changes; another colour scheme shows more.",
    ),
    "chat_syntax": Assumption(
        "The editor reads the syntax of the chat.",
        "A chat has the colours of plain Markdown.",
    ),
    "detect_indentation": Assumption(
        "`detect_indentation` finds the indentation of a scratch view.",
        "A proposal has the indentation of your settings.",
    ),
    # Tabs, groups, panels and windows
    "panel_has_sheet_id_0": Assumption(
        "A view in a panel has the sheet id 0 and is named by `View.element`.",
        "If neither tells, the focus may stay in a diff that opened while a panel had it.",
    ),
    "panel_gets_focus": Assumption(
        "`Window.focus_view` gives the focus back to a panel.",
        "The panel is shown and focused once more.",
    ),
    "active_panel": Assumption(
        "`Window.active_panel` names the panel that is shown while a tab has the focus, and none once it is hidden.",
        "The focus may go to a panel that was hidden in the meantime.",
    ),
    "focus_stays_in_window": Assumption(
        "`Window.focus_view` does not raise a window that is behind another.",
        "The focus moves inside a window only when that window comes to the front.",
    ),
    "focus_keeps_selection": Assumption(
        "`Window.focus_sheet` keeps the other selected tabs of a group.",
        "The other tabs are selected again.",
    ),
    "select_keeps_groups": Assumption(
        "`Window.select_sheets` with tabs of several groups selects in each group.",
        "The tabs of the diff are selected once more, alone. Another group may show something else.",
    ),
    "select_leaves_other_groups": Assumption(
        "`Window.select_sheets` with tabs of one group leaves the selected tabs of another group alone.",
        "The selected tabs of the other groups are selected again at the same time.",
    ),
    "first_tab": Assumption(
        "A new window begins with an untitled tab.",
        "Nothing depends on it.",
    ),
    "close_closes_one": Assumption(
        "Closing one of two selected tabs closes only that one.",
        "The package closes the one side of a diff that has the focus.",
    ),
    "activated_before_loaded": Assumption(
        "A file that is opened gets the focus before it is loaded.",
        "Nothing depends on it: the context is sent after both.",
    ),
    "save_is_announced": Assumption(
        "Listeners are told about a save before it is done, whether it is run on the window or on the view.",
        "Saving a proposal may ask for the name of a file. “Accept Diff” accepts it.",
    ),
    "project_data_at_once": Assumption(
        "`Window.project_data` has a change at once.",
        "The settings of a project apply a moment later.",
    ),
    # The system
    "listener_duplicated": Assumption(
        "A duplicate of a listening socket serves clients after the first one is closed.",
        "A CLI has to connect again with `/ide enable` after a reload.",
    ),
    "port_reused": Assumption(
        "A port can be listened at again at once after its server has ended.",
        "A window is served on another port after a restart.",
    ),
    "open_file_replaced": Assumption(
        "A file that the editor has open can be replaced.",
        "It is tried for a second, and then written in place.",
    ),
    "one_spelling": Assumption(
        "A folder has one spelling, which the file system tells.",
        "A CLI that runs in a folder with another spelling says “Directory mismatch”.",
    ),
    "path_of_login_shell": Assumption(
        "The editor has the PATH of the login shell.",
        "Agents and `qwen serve` get the environment of the login shell.",
    ),
    "notification_program": Assumption(
        "The system has a program that shows notifications.",
        "Nothing is shown while the editor is behind other windows.",
    ),
    # The host
    "companion_answers": Assumption(
        "The libraries are there and the companion runs.",
        "No CLI can connect. “Qwen Companion: Status” says why.",
    ),
}

UNTOLD: dict[str, Assumption] = {
    "newline_fills_row": Assumption(
        "A region that ends with a newline fills the row.",
        "The gutter marks the changed lines as well.",
    ),
    "hidden_annotations": Assumption(
        "An annotation stays in a view that is not in front, and its link calls `on_navigate`.",
        "An old *revert* link does nothing and says so. The key still reverts the change.",
    ),
    "phantom_width": Assumption(
        "A phantom may be as wide as the view.",
        "A filler is padded to the width of the view.",
    ),
    "restores_flags": Assumption(
        "Scratch and read-only views are restored as such.",
        "The tabs of an old diff are told by a fingerprint of their text, and are closed or kept with it.",
    ),
}
"""The API gives no way to see whether these hold. The package always does what it does if they do not."""
