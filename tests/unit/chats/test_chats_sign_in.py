"""Signing in by the daemon's device flow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companion.backends.daemon.sign_in import SigningIn
from companion.conversation.failures import ChatError

from ..fake_daemon import FEATURES, FakeDaemon, faked
from .chatting import CHAT, WINDOW, Room, chatting, real

FLOW = "/workspace/auth/device-flow"
BEGUN = {
    "deviceFlowId": "f/1", "providerId": "qwen-oauth", "status": "pending", "userCode": "ABCD-EFGH",
    "verificationUri": "https://x/device", "verificationUriComplete": "https://x/device?code=ABCD-EFGH",
    "expiresAt": 60_000, "intervalMs": 2000,
}  # fmt: skip
PENDING = SigningIn("f/1", "qwen-oauth", "pending", "ABCD-EFGH", "https://x/device?code=ABCD-EFGH", 60.0, 2.0)


def attached(project: Path, test: Callable[[Room], Any], *features: str) -> None:
    """Run a test in a room with a live chat."""

    async def whole(daemon: FakeDaemon) -> None:
        async with chatting(daemon, str(project)) as room:
            daemon.capabilities(real(project), features=[*FEATURES, *features])
            room.chats.open(CHAT, WINDOW, room.folder)
            await room.live()
            await test(room)

    faked(whole)


def test_a_sign_in_has_a_code_and_a_link_and_is_followed_to_its_end(project: Path):
    async def test(room: Room) -> None:
        supported = {"supportedDeviceFlowProviders": ["qwen-oauth", 7]}
        room.daemon.routes |= {
            "GET /workspace/auth/status": (200, supported),
            f"POST {FLOW}": (201, BEGUN),
            f"GET {FLOW}/f%2F1": (200, BEGUN | {"status": "authorized", "userCode": None}),
            f"DELETE {FLOW}/f%2F1": (204, None),
        }
        assert await room.chats.sign_in.providers(CHAT) == ["qwen-oauth"]
        assert await room.chats.sign_in.begin(CHAT, "qwen-oauth") == PENDING
        [request] = room.daemon.asked(f"POST {FLOW}")
        assert request.body == {"providerId": "qwen-oauth"}
        # With a client's id, only that client would be told the code.
        assert "x-qwen-client-id" not in request.headers
        assert (await room.chats.sign_in.progress(CHAT, "f/1")).state == "authorized"
        await room.chats.sign_in.cancel(CHAT, "f/1")
        assert len(room.daemon.asked(f"DELETE {FLOW}")) == 1

    attached(project, test, "auth_device_flow")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"status": "expired"}, ("failed", "expired")),
        ({"status": "error", "errorKind": "access_denied"}, ("failed", "access denied")),
        ({"status": "error", "errorKind": "x", "hint": "Try another account"}, ("failed", "Try another account")),
        ({"hint": "soon"}, ("pending", "")),
    ],
)
def test_why_a_sign_in_has_failed_is_told(project: Path, told: dict[str, Any], expected: tuple[str, str]):
    async def test(room: Room) -> None:
        room.daemon.routes[f"GET {FLOW}/f"] = 200, BEGUN | told
        now = await room.chats.sign_in.progress(CHAT, "f")
        assert (now.state, now.why) == expected

    attached(project, test, "auth_device_flow")


def test_only_a_web_page_is_a_link(project: Path):
    async def test(room: Room) -> None:
        strange = {"verificationUri": "file:///etc/passwd", "verificationUriComplete": None, "intervalMs": None}
        room.daemon.routes[f"POST {FLOW}"] = 200, BEGUN | strange
        begun = await room.chats.sign_in.begin(CHAT, "qwen-oauth")
        assert (begun.page, begun.interval) == ("", 5.0)

    attached(project, test, "auth_device_flow")


def test_a_provider_that_does_not_answer_is_told_as_that(project: Path):
    async def test(room: Room) -> None:
        refused = {"error": "Qwen IdP device authorization request failed", "code": "upstream_error"}
        room.daemon.routes[f"POST {FLOW}"] = 502, refused
        with pytest.raises(ChatError, match="The service that signs you in doesn't answer as it should: Qwen IdP"):
            await room.chats.sign_in.begin(CHAT, "qwen-oauth")

    attached(project, test, "auth_device_flow")


def test_a_daemon_without_the_device_flow_says_so(project: Path):
    async def test(room: Room) -> None:
        with pytest.raises(ChatError, match="This Qwen Code can't be signed in with a code"):
            await room.chats.sign_in.providers(CHAT)

    attached(project, test)
