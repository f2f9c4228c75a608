"""The chat's own lines around what is said: the header, the ends of turns, the plan, the connection."""

from __future__ import annotations

from collections.abc import Iterable

from ...conversation.snapshot import Cost, Locality, Status, Step, Turn, Unsent
from ...conversation.task import duration
from .plain import GAP, SIGNS, YOU, flat, foreign, presentable, sentence

MOST_STEPS = 100
"""Steps of a plan that are shown; the plan is written anew with each change of the conversation."""
LONGEST_STEP = 1000
"""Characters of a step."""


def ending(turn: Turn) -> str:
    """How a turn ended, if not normally, and what it has taken, or that it is being cancelled; empty if unknown."""
    how = _how_ended(turn)
    took = _took(turn.cost) if turn.state != "running" else ""
    return "\n".join(line for line in (how, f"—{GAP}{took} —" if took else "") if line)


def _took(cost: Cost) -> str:
    """The time and the tokens of a turn."""
    time = duration(cost.seconds) if cost.seconds >= 1 else ""
    tokens = f"{amount(cost.read)} tokens in, {amount(cost.written)} out" if cost.read or cost.written else ""
    return " · ".join(part for part in (time, tokens) if part)


def amount(number: int) -> str:
    """A number of tokens, such as 4.1k."""
    for step, sign in ((1_000_000, "M"), (1000, "k")):
        if number >= step:
            return f"{number / step:.1f}".removesuffix(".0") + sign
    return str(number)


def _how_ended(turn: Turn) -> str:
    match turn.state:
        case "running":
            return f"—{GAP}Cancelling… —" if turn.cancelling else ""
        case "cancelled":
            return f"—{GAP}Cancelled —"
        case "failed":
            return f"—{GAP}Failed: {sentence(turn.error or 'it is not said why')} —"
        case "interrupted":
            return f"—{GAP}Interrupted: the agent ended before this was through. —"
        case "done":
            return _stopped(turn.stop_reason)


def _stopped(reason: str) -> str:
    if reason in {"", "end_turn", "cancelled"}:
        return ""
    known = {
        "max_tokens": "the answer has reached its maximum length",
        "max_turn_requests": "the turn has reached its maximum number of requests",
        "refusal": "the model refuses to go on",
    }
    return f"—{GAP}Stopped: {sentence(known.get(reason, reason))} —"


def header(locality: Locality) -> str:
    """Where the chat runs. Says only what is known."""
    # An agent may call itself anything, also what would look like one of the chat's own lines.
    program = foreign(f"{flat(locality.agent) or 'An agent'} {flat(locality.version)}".rstrip())
    host = f" {'on' if locality.is_known else 'at'} {flat(locality.host)}" if locality.host else ""
    folder = f", in {flat(locality.folder)}" if locality.folder else ""
    lines = [program + host + folder]
    if locality.folders:
        lines.append(f"It works in the window’s other folders, too: {', '.join(map(flat, locality.folders))}")
    if locality.host and locality.is_local:
        lines.append(f"Files, commands and keys are those of {flat(locality.host)}.")
    elif locality.host and not locality.is_known:
        lines.append("Files, commands and keys are those of the machine on which it runs.")
    elif locality.host:
        lines.append(f"Files, commands and keys are those of {flat(locality.host)}, not of this editor’s computer.")
    if locality.warning:
        lines.append(f"⚠{GAP}{sentence(locality.warning)}")
    return "\n".join(lines)


def tail(status: Status, unsent: Iterable[Unsent] = ()) -> str:
    """What is above the prompt: prompts on their way, the plan and the state of the connection."""
    parts = (*map(_unsent, unsent), _plan(status.plan, is_running=status.running is not None), _connection(status))
    return "\n\n".join(part for part in parts if part)


def _unsent(prompt: Unsent) -> str:
    how = {"waiting": "Waiting for the connection", "sending": "Sending", "sent": "Sent"}[prompt.state]
    return f"{YOU}{foreign(presentable(prompt.text)).strip(chr(10))}\n◌{GAP}{how}…"


def _plan(plan: Iterable[Step], *, is_running: bool) -> str:
    steps = tuple(plan)
    if not steps or not (is_running or any(step.status != "completed" for step in steps)):
        return ""
    texts = (flat(step.text[: LONGEST_STEP + 1], LONGEST_STEP) for step in steps)
    lines = [f"  {SIGNS.get(step.status, '○')} {text}" for step, text in zip(steps[:MOST_STEPS], texts, strict=False)]
    more = [f"  … and {len(steps) - MOST_STEPS} more"] if len(steps) > MOST_STEPS else []
    return "\n".join([f"◇{GAP}Plan", *lines, *more])


def _connection(status: Status) -> str:
    connection = status.connection
    match connection.state:
        case "live":
            return ""
        case "connecting":
            return f"◌{GAP}{sentence(connection.message)}" if connection.message else f"◌{GAP}Connecting…"
        case "waiting":
            again = f" The next try is in {connection.retry_in:.0f} s." if connection.retry_in is not None else ""
            return f"⚠{GAP}{sentence(connection.message or 'The connection is lost')}{again}"
        case "lost" | "ended":
            return f"⚠{GAP}{sentence(connection.message or 'The connection is lost')}"
