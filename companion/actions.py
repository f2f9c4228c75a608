"""The person's own actions: prompts with the place in the editor, and who gets them.

The person's setting `actions` adds to the presets. No project can set it. Standard library only: the UI thread imports
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

Target = Literal["", "cli", "chat", "new_chat"]
"""The CLI or the chat used last; a CLI in a terminal; a chat; a chat that is opened for it."""
TARGETS: tuple[Target, ...] = ("cli", "chat", "new_chat")
VARIABLES = ("selection", "file", "problems", "symbol", "question")
"""What a prompt may have after a `$`."""
_VARIABLE = re.compile(rf"\$({'|'.join(VARIABLES)})\b|\$\$")
_KEYS = {"prompt", "target"}
ASK = "Ask…"


@dataclass(frozen=True, slots=True)
class Action:
    """A prompt to send about what the person looks at."""

    name: str
    prompt: str
    """With variables: `$selection`, `$file`, `$problems`, `$symbol`, and `$question`, for which the person is asked."""
    target: Target = ""

    def uses(self, variable: str) -> bool:
        """Whether the prompt has a variable."""
        return any(found[1] == variable for found in _VARIABLE.finditer(self.prompt))

    def filled(self, values: Mapping[str, str]) -> str:
        """The prompt with the values of its variables. What a value has is no variable; `$$` is a `$`."""
        return _VARIABLE.sub(lambda found: values.get(found[1], "") if found[1] else "$", self.prompt).strip()


PRESETS = (
    Action(ASK, "$question\n\n$selection"),
    Action("Explain", "Explain what this does, and why it is done this way:\n\n$selection"),
    Action("Fix Problems", "Fix these problems in $file:\n\n$problems"),
    Action("Write Tests", "Write tests for $symbol in $file, in the style of the tests that are there.\n\n$selection"),
    Action("Review Selection", "Review this. Name mistakes first, each with its line:\n\n$selection"),
    Action("Document", "Write the documentation of $symbol in $file, in the style of the project:\n\n$selection"),
)


def read_actions(value: object) -> tuple[tuple[Action, ...], list[str]]:
    """The actions of a setting's value with the presets, and a sentence on each entry that is wrong.

    An entry is a name with a prompt and perhaps a target, or with null, which removes a preset.
    """
    found = {action.name: action for action in PRESETS}
    if not isinstance(value, dict):
        return tuple(found.values()), ["“actions” must be an object in braces; only the presets are used."]
    wrong: list[str] = []
    for name, entry in cast("dict[str, Any]", value).items():
        if entry is None:
            found.pop(name, None)
        elif why := _wrong(name, entry):
            wrong.append(f"“actions”: “{name}” {why}.")
        else:
            found[name] = Action(name, entry["prompt"], entry.get("target") or "")
    return tuple(found.values()), wrong


def _wrong(name: str, entry: object) -> str:
    """Why an entry can't be used; empty if it can."""
    if not isinstance(entry, dict):
        return "must be an object in braces, with a “prompt”"
    fields = cast("dict[str, object]", entry)
    prompt, target = fields.get("prompt"), fields.get("target")
    if not name.strip():
        return "needs a name"
    if not isinstance(prompt, str) or not prompt.strip():
        return "needs a “prompt”, which is a string"
    if target is not None and target not in TARGETS:
        return "has a “target” other than “cli”, “chat” and “new_chat”"
    if unknown := sorted(set(fields) - _KEYS):
        return f"has “{unknown[0]}”, which an action doesn't have"
    return ""
