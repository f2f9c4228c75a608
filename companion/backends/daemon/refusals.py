"""Turns an unsuccessful answer into an error (docs/protocols/qwen-serve.md#refusals)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, cast

from ...conversation.failures import ChatError, SessionGoneError
from ..wire import as_object
from .address import Address
from .errors import (
    BusyError,
    ForbiddenError,
    NotADaemonError,
    QueueFullError,
    RefusedError,
    TroubleError,
    UnauthorizedError,
    UntrustedWorkspaceError,
    UpstreamError,
    WorkspaceMismatchError,
    missing_feature,
)

MAX_REASON = 300
"""Characters of the daemon's own words in a message."""
_GONE = "The daemon doesn't run this session any more."


def refusal(status: int, headers: Mapping[str, str], content: bytes, address: Address, *, known: bool) -> ChatError:
    """The error for an answer. `known` says whether the address has answered as a daemon before."""
    body = _object(content)
    if body is None and status not in {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS}:
        # Express's page for an unknown path, or the page of another server.
        if known and status == HTTPStatus.NOT_FOUND:
            return missing_feature("route for it")
        return TroubleError(status, _seconds(headers.get("retry-after"))) if known else NotADaemonError(address.url)
    body = body or {}
    return _by_code(body) or _by_status(status, headers, body, address)


def _by_status(status: int, headers: Mapping[str, str], body: Mapping[str, Any], address: Address) -> ChatError:
    reason, code = _reason(body, address), body.get("code")
    match status:
        case HTTPStatus.UNAUTHORIZED:
            return UnauthorizedError(had_token=address.token is not None)
        case HTTPStatus.FORBIDDEN:
            return ForbiddenError(reason)
        case HTTPStatus.BAD_GATEWAY if code == "upstream_error":
            return UpstreamError(reason)
        case (
            HTTPStatus.TOO_MANY_REQUESTS
            | HTTPStatus.BAD_GATEWAY
            | HTTPStatus.SERVICE_UNAVAILABLE
            | HTTPStatus.GATEWAY_TIMEOUT
        ):
            # A proxy gives these two when the daemon hasn't answered it.
            is_gateway = status in {HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT}
            return BusyError(reason, _seconds(headers.get("retry-after")), may_have_arrived=is_gateway)
        # 0.21.2 doesn't give it a code; a vote that comes too late names its request, too.
        case HTTPStatus.NOT_FOUND if code is None and "sessionId" in body and "requestId" not in body:
            return SessionGoneError(_GONE)
        case _:
            return RefusedError(status, reason, code if isinstance(code, str) else None)


def _by_code(body: Mapping[str, Any]) -> ChatError | None:
    match body.get("code"):
        case "workspace_mismatch":
            return WorkspaceMismatchError(str(body.get("requestedWorkspace")), [str(body.get("boundWorkspace"))])
        case "untrusted_workspace":
            return UntrustedWorkspaceError()
        case "prompt_queue_full":
            limit = body.get("limit")
            return QueueFullError(limit if isinstance(limit, int) else None)
        case "session_not_found":
            return SessionGoneError(_GONE)
        case _:
            return None


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        body: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None


def _reason(body: Mapping[str, Any], address: Address) -> str:
    """The daemon's own message. The agent's errors have theirs one level deeper."""
    details = as_object(body.get("data")).get("details")
    words = details if isinstance(details, str) else body.get("error")
    reason = words.strip().rstrip(".") if isinstance(words, str) and words.strip() else "it doesn't say why"
    if address.token:
        reason = reason.replace(address.token.reveal(), "…")
    return reason if len(reason) <= MAX_REASON else reason[: MAX_REASON - 1] + "…"


def _seconds(text: str | None) -> float | None:
    """What `Retry-After` asks for, which is a number of seconds or a date."""
    if text is None or text.isdecimal():
        return float(text) if text else None
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
