"""The minihtml of a chat: bar, questions, buttons of code blocks. All text in it is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...review.changes import counted
from ..minihtml import COLOURS, LINK_COLOUR, safe

if TYPE_CHECKING:
    from ...chats.transcript.render import Ask, Code, Render, Running
    from ...conversation.snapshot import Choice, ContextWindow, PermissionOption, Queued, Unsent

STYLE = f"""{COLOURS}
body {{ margin: 0; }}
div {{ font-family: system; }}
.bar {{ padding: 0.3rem 0.6rem; background-color: var(--tint); }}
.ask {{ padding: 0.2rem 0; }}
.turn {{ border-top: 1px solid var(--tint); font-size: 0.2rem; line-height: 0.2rem; }}
"""
KEYS = {"allow_once": "y", "reject_once": "n"}
CONTINUED = {"interrupted": "▸ Continue", "failed": "↻ Retry"}
"""The link that continues a turn, by its state."""
LINE_LENGTH = 80
"""Characters of the options of a question that fit on one line; more of them get a line each."""
LONGEST_BUTTON = 200
"""Characters of an option on its button."""
MOST_NUMBERED = 9
"""Answers that have a key, which is their number."""
QUEUED_LENGTH = 60
"""Characters that are shown of a prompt that waits or is suggested."""
USUAL_EFFORT = "default"
"""The id of the reasoning effort that isn't worth a word in the bar."""


def page(content: str) -> str:
    """A phantom's whole minihtml."""
    return f'<body id="qwen-companion-chat"><style>{STYLE}</style>{content}</body>'


def link(href: str, words: str, kind: str = "") -> str:
    """Something to click."""
    return f'<a class="{kind}" href="{safe(href)}">{safe(words)}</a>'


EARLIER = page(f'<div class="bar">{link("show_earlier", "▴ Earlier messages")}</div>')
"""What is above the first turn that is shown, if there are earlier ones."""
TURN = page('<div class="turn">&nbsp;</div>')
"""The thin line above a turn."""
BELOW = f'<a href="to_end" style="text-decoration: none; color: {LINK_COLOUR}">▾ new text below</a>'
"""What is at the edge of the screen while there is text below that the person hasn't seen."""


def meter(window: ContextWindow | None) -> str:
    """How full the context window is and what was spent, for example "12 % of 128k · 0.42 USD"."""
    if window is None:
        return ""
    used = f"{round(100 * window.used / window.size)} % of {_amount(window.size)}" if window.size > 0 else ""
    spent = f"{window.cost:.2f} {window.currency}" if window.cost else ""
    return " · ".join(filter(None, (used, spent)))


MOST_ATTACHED = 12
"""Attachments that the bar names."""


def name_of(choices: Sequence[Choice], identifier: str) -> str:
    """What a model or a mode is called."""
    return next((choice.name for choice in choices if choice.id == identifier and choice.name), identifier)


def facts(render: Render) -> list[str]:
    """The facts in the chat's bar: model, its effort, mode, use of the context window."""
    status = render.status
    effort = "" if status.effort in {"", USUAL_EFFORT} else f"{name_of(status.efforts, status.effort)} effort"
    model, mode = name_of(status.models, status.model), name_of(status.modes, status.mode)
    # A switch says something by being on; what else is set is one click away.
    switches = [option.name for option in status.options if option.value is True]
    found = (model, effort, mode, *switches, meter(status.window))
    return [fact for fact in found if fact]


def bar(
    render: Render, attached: Sequence[str], folder: str = "", context: str = "", icon: str = "", waiting: int = 0
) -> str:
    """The bar between the transcript and the prompt.

    `attached` are the names of the prompt's attachments, `context` is that of what goes by itself, `folder` is the
    chat's if the window has several, `icon` stands for the agent, `waiting` files are to be reviewed. The transcript
    itself has the state of the connection and warnings about the host.
    """
    status, where = render.status, render.locality
    host = "" if where.is_local else where.host
    told = " · ".join(safe(fact) for fact in [*facts(render), folder, host] if fact)
    first = [" ".join(filter(None, (safe(icon), told)))]
    if status.running is not None or status.connection.can_be_cancelled:
        first.append(link(f"cancel:{status.running or ''}", "■ Cancel", "reject"))
    elif status.last in CONTINUED and status.connection.state == "live":
        first.append(link("go_on", CONTINUED[status.last], "allow"))
    if status.changed and not waiting:
        first.append(link("changes", f"± {status.changed} {'file' if status.changed == 1 else 'files'}"))
    if not where.is_known:
        first.append(link("confirm_here", "It is this computer"))
    if status.connection.wants_sign_in:
        first.append(link("sign_in", "Sign In…", "allow"))
    if status.connection.state != "live":
        first.append(link("reconnect", "↻ Reconnect"))
    lines = [" &nbsp; ".join(filter(None, first))]
    lines += [_review(waiting)] if waiting else []
    if tasks := [task.title for task in status.tasks if task.is_running and task.is_background]:
        lines.append(f"◐ In the background: {safe(shortened(', '.join(tasks)))} {link('tasks', 'Show')}")
    lines += [_waits("waits", queued, "dequeue") for queued in status.queue]
    lines += [_waits("not sent yet", unsent, "unsend") for unsent in render.unsent if unsent.can_be_removed]
    lines += [f"with {safe(name)} {link(f'detach:{at}', 'remove')}" for at, name in enumerate(attached[:MOST_ATTACHED])]
    if left := len(attached) - MOST_ATTACHED if len(attached) > MOST_ATTACHED else 0:
        lines.append(f'<span class="quiet">and {left} more</span>')
    if context:
        lines.append(f'with {safe(context)} <span class="quiet">(active)</span> {link("leave_out", "leave out")}')
    return page(f'<div class="bar">{"<br>".join(lines)}</div>')


def _review(files: int) -> str:
    """What waits for a review, and what can be done with it."""
    decisions = link("keep_all_changes", "Keep All", "allow"), link("undo_all_changes", "Undo All", "reject")
    return " · ".join((counted(files, "file"), link("review", "Review"), *decisions))


def ask(question: Ask, *, is_first: bool) -> str:
    """The buttons of a permission; the keys answer the first one."""
    permission = question.permission
    form = permission.form
    if permission.questions or (form and form.is_asked):
        options = [option for option in permission.options if option.kind.startswith("reject")][:1]
        words = f"Open {form.host} in Browser…" if form and form.page else "Answer…"
        first = link(f"answer:{permission.id}", f"{words}{' (y)' if is_first else ''}", "allow")
    else:
        # Options that allow more than once come last, answers stand as the agent has them.
        usual = sorted(permission.options, key=lambda option: option.kind == "allow_always")
        options, first = list(permission.options) if permission.is_choice else usual, ""
    always = sum(option.kind == "allow_always" for option in options)
    buttons = [first] if first else []
    words_of: list[str] = []
    for at, option in enumerate(options):
        if permission.is_choice:
            key = str(at + 1) if at < MOST_NUMBERED else ""
        else:
            key = KEYS.get(option.kind, "a" if option.kind == "allow_always" and always == 1 else "")
        name = shortened(option.name, LONGEST_BUTTON)
        words = f"{name} ({key})" if key and is_first else name
        words_of.append(words)
        buttons.append(link(f"vote:{permission.options.index(option)}:{permission.id}", words, _kind(option)))
    between = "<br>" if sum(map(len, words_of)) > LINE_LENGTH else " "
    if question.hidden:
        buttons.append(link(f"whole:{permission.id}", "Show All"))
    return page(f'<div class="ask">{between.join(buttons)}</div>')


def running(what: Running) -> str:
    """The button below a tool call for which the editor runs something."""
    stop = link(f"stop_terminals:{' '.join(what.terminals)}", "■ Stop", "reject")
    return page(f'<div class="ask">{stop}</div>')


def code(block: Code) -> str:
    """The buttons of a code block."""
    copy, insert = link(f"copy:{block.key}", "Copy"), link(f"insert:{block.key}", "Insert")
    return page(f"<div>&nbsp;{copy}{insert}</div>")


def sign_in(*, has_page: bool) -> str:
    """The buttons below the code of a sign-in."""
    opens = link("open", "Open the page") if has_page else ""
    return page(f"<div>{opens} {link('copy', 'Copy the code')}</div>")


def ghost(suggestion: str) -> str:
    """A suggested prompt in the empty input, and the key that takes it."""
    return page(f'<div class="quiet">{link("suggestion", shortened(suggestion), "quiet")} (Tab)</div>')


def popup(words: str, href: str = "") -> str:
    """A few words over the text, to click or to read."""
    return page(f"<div>{link(href, words) if href else safe(words)}</div>")


class LinkItem(NamedTuple):
    """A link, to be used without the mouse."""

    caption: str
    line: str
    """The text of the line that it is in."""
    href: str


def link_items(content: str) -> list[LinkItem]:
    """The links of a phantom's minihtml, in order."""
    found: list[LinkItem] = []
    for line in re.split(r"<br>|<div[^<>]*>", content.partition("</style>")[2]):
        words = " ".join(html.unescape(re.sub(r"<[^<>]+>", " ", line)).split())
        found += [
            LinkItem(html.unescape(caption), words, html.unescape(href))
            for href, caption in re.findall(r'<a [^<>]*href="([^"]*)">([^<]*)</a>', line)
        ]
    return found


def _waits(how: str, queued: Queued | Unsent, href: str) -> str:
    words = f'<span class="quiet">{how}: {safe(shortened(queued.text))}</span>'
    return f"{words} {link(f'{href}:{queued.id}', 'remove')}"


def shortened(text: str, most: int = QUEUED_LENGTH) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _kind(option: PermissionOption) -> str:
    return "always" if option.kind == "allow_always" else option.kind.partition("_")[0]


def _amount(tokens: int) -> str:
    for step, sign in ((1_000_000, "M"), (1 << 20, "M"), (1000, "k"), (1024, "k")):
        if tokens >= step and tokens % step == 0:
            return f"{tokens // step}{sign}"
    return f"{round(tokens / 1000)}k" if tokens >= 1000 else str(tokens)
