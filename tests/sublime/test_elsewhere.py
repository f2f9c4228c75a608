"""A diff that waits in another window than the one in front."""

from __future__ import annotations

import sublime

from .companion_case import CompanionCase, Steps, loaded

KEY = "zz_qwen_companion"


class TestElsewhere(CompanionCase):
    """The person works in one window while a CLI of another one asks."""

    def test_the_window_in_front_says_so_and_f8_goes_there(self) -> Steps:
        """And once it is answered, nothing is said any more."""
        yield from self.open_diff("new\n", self.folder / "a.py")
        front = yield from self.another_window()
        view = front.new_file()
        front.focus_view(view)
        front.bring_to_front()
        yield lambda: "1 diff in another window (F8)" in view.get_status(KEY)
        listener = loaded("sublime_text.listeners")
        equal = sublime.QueryOperator.EQUAL
        asks = lambda: listener.QwenCompanionListener().on_query_context(  # noqa: E731
            view, "qwen_companion.diff_waits", equal, True, False
        )
        self.assertTrue(asks())
        front.run_command("qwen_companion_go_to_diff")
        yield lambda: sublime.active_window() == self.window
        yield lambda: self.window.active_view() == self.proposal
        self.proposal.run_command("qwen_companion_reject_diff")
        yield lambda: "another window" not in view.get_status(KEY)
        self.assertFalse(asks())
