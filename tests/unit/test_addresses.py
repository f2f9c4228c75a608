"""The host of an address is the one that a browser goes to, or there is none."""

from __future__ import annotations

import pytest

from companion.chats.transcript.markdown import Scanner
from companion.chats.transcript.render import Link
from companion.conversation.forms import Form
from companion.visible import host_of, is_safe

TRUE = {
    "https://a.example": "a.example",
    "HTTPS://A.Example:8443/x?y#z": "a.example",
    "http://127.0.0.1:8/": "127.0.0.1",
    "https://[::1]/": "::1",
    "https://bücher.example/": "xn--bcher-kva.example",
    "https://\u0430pple.example/": "xn--pple-43d.example",
    "https://github.com/@person": "github.com",
}
FALSE = (
    "https://evil.example\\@github.com/login", "https://github.com@evil.example/", "https://@evil.example/",
    "https://github.com%2f.evil.example/", "https://github.com\t.evil.example/", "https://github.com .evil.example/",
    "https://bußiness.example/", "https://buẞiness.example/", "https://λόγος.example/", "https://a\u200db.example/",
    "https://git\u202ehub.com/", "https://a.example:x/", "https://[a/", "https://", "ftp://a.example", "a.example",
    "javascript:alert(1)", "file:///etc/passwd", "https://a.example/\u2028", "https://a.example\u3002evil.example\\",
    "https:///a.example", "https:a.example", "",
)  # fmt: skip


@pytest.mark.parametrize(("address", "host"), TRUE.items())
def test_a_host_is_shown_as_a_browser_looks_it_up(address: str, host: str):
    assert host_of(address) == Form(page=address).host == host


@pytest.mark.parametrize("address", FALSE)
def test_an_address_that_is_read_in_two_ways_has_no_host(address: str):
    assert host_of(address) == Form(page=address).host == ""
    assert not is_safe(address)
    _, marks = Scanner("k").feed(f"See {address} for it\n")
    assert all(not link.is_web or host_of(link.path) for link in marks.of(Link))
    assert not any(link.path == address for link in marks.of(Link))


def test_an_address_that_others_may_listen_to_is_not_safe():
    assert [is_safe(each) for each in ("https://a.example", "http://localhost:1", "http://a.example")] == [
        True, True, False,
    ]  # fmt: skip
