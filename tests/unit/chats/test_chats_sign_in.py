"""Signing in by the daemon's device flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from companion.backends.agent import SigningIn
from companion.conversation.failures import ChatError

from .chatting import CHAT, live

FLOW = "/workspace/auth/device-flow"
BEGUN = {
    "deviceFlowId": "f/1", "providerId": "qwen-oauth", "status": "pending", "userCode": "ABCD-EFGH",
    "verificationUri": "https://x/device", "verificationUriComplete": "https://x/device?code=ABCD-EFGH",
    "expiresAt": 60_000, "intervalMs": 2000,
}  # fmt: skip
PENDING = SigningIn("f/1", "qwen-oauth", "pending", "ABCD-EFGH", "https://x/device?code=ABCD-EFGH", 60.0, 2.0)


async def test_a_sign_in_has_a_code_and_a_link_and_is_followed_to_its_end(project: Path) -> None:
    async with live(project, "auth_device_flow") as room:
        supported = {"supportedDeviceFlowProviders": ["qwen-oauth", 7]}
        room.daemon.routes |= {
            "GET /workspace/auth/status": (200, supported),
            f"POST {FLOW}": (201, BEGUN),
            f"GET {FLOW}/f%2F1": (200, BEGUN | {"status": "authorized", "userCode": None}),
            f"DELETE {FLOW}/f%2F1": (204, None),
        }
        assert await room.chats[CHAT].sign_in.providers() == ["qwen-oauth"]
        assert await room.chats[CHAT].sign_in.begin("qwen-oauth") == PENDING
        [request] = room.daemon.asked(f"POST {FLOW}")
        assert request.body == {"providerId": "qwen-oauth"}
        # With a client's id, only that client would be told the code.
        assert "x-qwen-client-id" not in request.headers
        assert (await room.chats[CHAT].sign_in.progress("f/1")).state == "authorized"
        await room.chats[CHAT].sign_in.cancel("f/1")
        assert len(room.daemon.asked(f"DELETE {FLOW}")) == 1


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"status": "expired"}, ("failed", "expired")),
        ({"status": "error", "errorKind": "access_denied"}, ("failed", "access denied")),
        ({"status": "error", "errorKind": "x", "hint": "Try another account"}, ("failed", "Try another account")),
        ({"hint": "soon"}, ("pending", "")),
    ],
)
async def test_why_a_sign_in_has_failed_is_told(project: Path, told: dict[str, Any], expected: tuple[str, str]) -> None:
    async with live(project, "auth_device_flow") as room:
        room.daemon.routes[f"GET {FLOW}/f"] = 200, BEGUN | told
        now = await room.chats[CHAT].sign_in.progress("f")
        assert (now.state, now.why) == expected


async def test_only_a_web_page_is_a_link(project: Path) -> None:
    async with live(project, "auth_device_flow") as room:
        strange = {"verificationUri": "file:///etc/passwd", "verificationUriComplete": None, "intervalMs": None}
        room.daemon.routes[f"POST {FLOW}"] = 200, BEGUN | strange
        begun = await room.chats[CHAT].sign_in.begin("qwen-oauth")
        assert (begun.page, begun.interval) == ("", 5.0)


async def test_a_provider_that_does_not_answer_is_told_as_that(project: Path) -> None:
    async with live(project, "auth_device_flow") as room:
        refused = {"error": "Qwen IdP device authorization request failed", "code": "upstream_error"}
        room.daemon.routes[f"POST {FLOW}"] = 502, refused
        with pytest.raises(ChatError, match="The service that signs you in doesn't answer as it should: Qwen IdP"):
            await room.chats[CHAT].sign_in.begin("qwen-oauth")


async def test_a_daemon_without_the_device_flow_says_so(project: Path) -> None:
    async with live(project) as room:
        with pytest.raises(ChatError, match="This Qwen Code can't be signed in with a code"):
            await room.chats[CHAT].sign_in.providers()
