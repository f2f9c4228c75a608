"""Whole conversations on one connection, in any pieces: answered at once or by h11, the bytes are the same."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from companion.server.http import quick
from companion.server.http.connections import Connection

TURNS = 40
"""Turns of the loop after which everything that has come is answered."""
DATE = re.compile(rb"date: [^\r]*")
BAD = b"HTTP/1.1 400 Bad Request"


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.is_closed:
            self.written += data

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: object = None) -> object:
        return {"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)}.get(name, default)

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


def echo(headers: Mapping[str, str], body: bytes) -> quick.Answer:
    """What was read, as an answer."""
    told = json.dumps([sorted(headers.items()), body.decode("latin-1")]).encode()
    return [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(told))], told


def at_once(headers: Mapping[str, str], body: bytes) -> quick.Answer | quick.Answering | None:
    """As of the real application, only one with a known Host is answered; some at once, and others later."""
    if "host" not in headers:
        return None

    async def later(respond: Callable[[quick.Answer], None]) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        respond(echo(headers, body))

    return later if body.startswith(b"a") else echo(headers, body)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Echo a POST to /mcp."""
    body, is_whole = b"", False
    while not is_whole:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        is_whole = not message.get("more_body")
    if (scope["method"], scope["path"], scope["query_string"]) == ("POST", "/mcp", b""):
        headers, told = echo(
            {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}, body
        )
    else:
        headers, told = [(b"content-length", b"0")], b""
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": told})


@pytest.fixture(scope="module")
def config() -> uvicorn.Config:
    config = uvicorn.Config(app, interface="asgi3", http="h11", ws="none", lifespan="off", log_config=None)
    config.load()
    return config


async def talk(
    config: uvicorn.Config, pieces: Sequence[bytes], *, may_be_quick: bool, turns: int = TURNS
) -> tuple[bytes, bool, bool]:
    """What a client that sends these pieces gets; whether a request was refused; whether the connection is closed.

    `turns` of the loop pass after each piece.
    """
    state = ServerState()
    connection = Connection(config, state, at_once if may_be_quick else lambda *_: None, lambda: None, lambda: None)
    transport = Transport()
    connection.connection_made(transport)
    for piece in pieces:
        if not transport.is_closed:
            connection.data_received(piece)
        for _ in range(turns):
            await asyncio.sleep(0)
    for _ in range(len(pieces) * TURNS):
        await asyncio.sleep(0)
    is_closed = transport.is_closed
    connection.connection_lost(None)
    await asyncio.gather(*state.tasks)
    # h11 gives a refusal another form if it has read a request before.
    answers, bad, _ = bytes(transport.written).partition(BAD)
    return DATE.sub(b"", answers), bool(bad), is_closed


NAMES = st.sampled_from(
    [
        *("host", "Host", "content-length", "Content-Length", "connection", "transfer-encoding", "expect", "te"),
        *("upgrade", "trailer", "accept", "x", "X-Y", "a b", "a ", "\ta", "", "\xe4"),
    ]
)
VALUES = st.sampled_from(
    [
        *("x", "keep-alive", "Keep-Alive", "close", "keep-alive, close", "chunked", "gzip, chunked", "identity"),
        *("100-continue", "0", "4", "+4", "04", "4,4", "0x4", "a\tb", "\ta", "a ", "  a", "", "a\r\n b", "a\nb"),
        *("a\rb", "\0", "\xe9", "\x7f", "\x85", "h2c"),
    ]
)
BODIES = st.sampled_from([b"", b"abcd", b"4\r\nabcd\r\n0\r\n\r\n", b"POST /mcp HTTP/1.1\r\nhost: x\r\n\r\n"])
OTHER_LINES = ["POST /mcp HTTP/1.0", "POST  /mcp HTTP/1.1", "GET /mcp HTTP/1.1", "POST /mcp?x HTTP/1.1", "POST /mcp"]
LINES = st.sampled_from(["POST /mcp HTTP/1.1"] * 20 + OTHER_LINES)
ENDS = st.sampled_from(["\r\n"] * 10 + ["\n", "\r"])
COLONS = st.sampled_from([": "] * 10 + [":", " : ", ":\t"])
NOISE = st.sampled_from([b"", b"", b"", b"\r\n", b"\n", b" ", b"\t", b":", b"\0"])


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """A request as the CLIs send it, or one that differs from that in places."""
    body = draw(BODIES)
    length = len(body) + draw(st.sampled_from([0] * 10 + [1, -1]))
    others = draw(st.lists(st.tuples(NAMES, VALUES), max_size=2))
    pairs = draw(st.permutations([("host", "x"), ("content-length", str(length)), *others]))
    end, colon = draw(ENDS), draw(COLONS)
    head = draw(LINES) + end + "".join(f"{name}{colon}{value}{end}" for name, value in pairs) + end
    data = head.encode("latin-1") + body
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(NOISE) + data[at:]


@settings(max_examples=3 * settings().max_examples)
@given(
    st.lists(requests(), min_size=1, max_size=3),
    st.lists(st.integers(0, 400), max_size=3),
    st.sampled_from([0, 1, 2, 5, TURNS]),
)
def test_any_requests_in_any_pieces_are_answered_as_by_h11(
    config: uvicorn.Config, sent: list[bytes], cuts: list[int], turns: int
) -> None:
    """Nothing is smuggled past the one that h11 would not have smuggled past itself."""
    data = b"".join(sent)
    if b"HTTP/1.0" in data or b"close" in data:
        turns = TURNS  # h11 refuses what comes before its last answer, so the time matters
    for pieces in (sent, [data[a:b] for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), None], strict=True)]):
        usual = [piece for piece in pieces if piece]
        first, second = (asyncio.run(talk(config, usual, may_be_quick=may, turns=turns)) for may in (True, False))
        assert first == second


ODD = [
    *(
        b"x : y",
        b"x\t: y",
        b" x: y",
        b"\tx: y",
        b"x",
        b": y",
        b"x y: z",
        b"\xe4: x",
        b"x: \xe4",
        b"x: a\xe4",
        b"x: a\0b",
    ),
    *(b"x: a\x7fb", b"x: a\x0bb", b"x:\ty", b"x: a\tb", b"x: a\nb", b"x: a\rb", b"x: a\r\n b", b"x:", b"x: ", b"x: y "),
    *(b"content-length: 4", b"Content-Length: 4", b"content-length: 5", b"transfer-encoding: chunked", b"expect: x"),
    *(b"connection: close", b"connection: keep-alive", b"connection: keep-alive, x", b"connection: x", b"te: x"),
]


@pytest.mark.parametrize("line", ODD)
@pytest.mark.parametrize("length", [b"4", b"+4", b"04", b" 4", b"4 ", b"0x4", b"4,4", b"", b"-4", b"00004"])
def test_an_odd_line_is_answered_as_by_h11(config: uvicorn.Config, line: bytes, length: bytes) -> None:
    data = b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: " + length + b"\r\n" + line + b"\r\n\r\nabcd"
    first, second = (asyncio.run(talk(config, [data], may_be_quick=may)) for may in (True, False))
    assert first == second


def test_a_usual_request_is_answered_at_once_there(config: uvicorn.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would show nothing otherwise."""
    found: list[bytes] = []
    plain = quick.read

    def read(data: bytes) -> tuple[dict[str, str], bytes] | None:
        answer = plain(data)
        found.extend([data] if answer else [])
        return answer

    monkeypatch.setattr(quick, "read", read)
    request = b"POST /mcp HTTP/1.1\r\nhost: x\r\nContent-Length: 4\r\nx: y\r\n\r\nabcd"
    answers, is_bad, is_closed = asyncio.run(talk(config, [request] * 3, may_be_quick=True))
    assert found == [request] * 3
    assert answers.count(b'"abcd"') == 3
    assert not is_bad
    assert not is_closed
