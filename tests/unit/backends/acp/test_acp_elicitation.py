"""What an agent asks by `elicitation/create`: forms by their schema, and pages to go to."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from companion.backends.acp.services import FormError
from companion.conversation.failures import AlreadyAnsweredError
from companion.conversation.forms import Form, Values
from tests.agent_talk import AgentTalk, MemoryFiles, Talks, notices, said, tools, until
from tests.parts import has

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 4, "default": "Ann"},
        "mail": {"type": "string", "format": "email"},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Middle"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 3},
        "share": {"type": "number", "minimum": 0.5},
        "sure": {"type": "boolean", "default": False},
        "many": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"anyOf": [{"const": each, "title": each.upper()} for each in "xyz"]},
        },
        "odd": {"type": "object"},
    },
    "required": ["name", "count"],
}


def asks(request: dict[str, Any], *, before: str = "") -> str:
    """An agent that asks in each turn, and says the answer."""
    return f"""
def session_prompt(params):
    {before}
    say(json.dumps(ask("elicitation/create", **json.loads({json.dumps(request)!r}))))
    return {{"stopReason": "end_turn"}}
"""


def form(**more: Any) -> dict[str, Any]:
    return {"mode": "form", "message": "Who are you?", "requestedSchema": SCHEMA, **more}


async def answered(talk: AgentTalk, key: str) -> dict[str, Any]:
    return json.loads(said(await talk.done(key)))


async def test_a_form_is_asked_with_all_its_fields(talks: Talks):
    async with talks(asks(form())) as talk:
        key = await talk.ask("Go")
        permission = await talk.asked()
        asked = has(permission.form)
        assert permission.title == "Who are you?"
        assert [(each.name, each.kind, each.title) for each in asked.fields][:2] == [
            ("name", "string", "Name"),
            ("mail", "string", "mail"),
        ]
        assert [each.name for each in asked.fields if each.is_required] == ["name", "count"]
        assert asked.defaults == {"name": "Ann", "sure": False}
        assert [(each.id, each.name) for each in has(asked.field("size")).choices] == [
            ("s", "Small"),
            ("m", "Middle"),
        ]
        assert asked.field("odd") is None  # of a kind that isn't known, and not required
        values: Values = {"name": "Bob", "count": 2, "sure": True, "many": ("x", "z"), "share": 0.5, "mail": ""}
        await talk.client.answer(talk.session, permission.id, "accept", values)
        content = {"name": "Bob", "count": 2, "share": 0.5, "sure": True, "many": ["x", "z"]}
        assert await answered(talk, key) == {"action": "accept", "content": content}
        [tool] = tools(talk.conversation.turns[-1])
        assert (tool.status, tool.permissions[0].state) == ("completed", "selected")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"name": "A"}, "Name: Enter at least 2 characters."),
        ({"name": "Annie"}, "Name: Enter at most 4 characters."),
        ({"name": ""}, "Name: It is required."),
        ({"count": 4}, "count: It must be at most 3."),
        ({"count": 1.5}, "count: Enter a whole number."),
        ({"count": True}, "count: Enter a number."),
        ({"share": 0.25}, "share: It must be at least 0.5."),
        ({"mail": "nobody"}, "mail: Enter an e-mail address, such as name@example.org."),
        ({"code": "A1"}, "code: It must match ^[a-z]+$."),
        ({"colour": "green"}, "colour: Choose one of the answers that are offered."),
        ({"many": ("x", "y", "z")}, "many: Choose at most 2."),
        ({"many": ("q",)}, "many: Choose from the answers that are offered."),
    ],
)
async def test_a_wrong_value_is_said_and_the_question_stays(talks: Talks, wrong: Values, problem: str):
    async with talks(asks(form())) as talk:
        key = await talk.ask("Go")
        permission = await talk.asked()
        values: Values = {"name": "Ann", "count": 1, **wrong}
        with pytest.raises(FormError, match=re.escape(problem)):
            await talk.client.answer(talk.session, permission.id, "accept", values)
        assert talk.conversation.status.permissions
        await talk.client.answer(talk.session, permission.id, "decline")
        assert await answered(talk, key) == {"action": "decline"}
        with pytest.raises(AlreadyAnsweredError):
            await talk.client.answer(talk.session, permission.id, "decline")


async def test_a_turn_that_is_cancelled_cancels_its_form(talks: Talks):
    async with talks(asks(form())) as talk:
        key = await talk.ask("Go")
        await talk.asked()
        await talk.client.cancel(talk.session)
        assert await answered(talk, key) == {"action": "cancel"}
        assert not talk.conversation.status.permissions


async def test_a_form_about_a_tool_call_is_asked_below_that_call(talks: Talks):
    call = 'update(sessionUpdate="tool_call", toolCallId="t", title="Ask", kind="other", status="pending")'
    async with talks(asks(form(toolCallId="t"), before=call)) as talk:
        key = await talk.ask("Go")
        permission = await talk.asked()
        assert (permission.tool, permission.title) == ("t", "Who are you?")
        await talk.client.answer(talk.session, permission.id, "decline")
        await talk.done(key)
        assert [(each.id, each.title, each.status) for each in tools(talk.conversation.turns[-1])] == [
            ("t", "Ask", "pending")
        ]


async def test_a_form_with_a_required_field_of_an_unknown_kind_can_only_be_declined(talks: Talks):
    schema = {"type": "object", "properties": {"place": {"type": "_map"}}, "required": ["place"]}
    async with talks(asks(form(requestedSchema=schema))) as talk:
        key = await talk.ask("Go")
        permission = await talk.asked()
        assert has(permission.form).unknown == ("place",)
        assert [option.id for option in permission.options] == ["decline"]
        await talk.client.answer(talk.session, permission.id, "decline")
        assert await answered(talk, key) == {"action": "decline"}


async def test_a_page_is_asked_for_with_its_host_and_its_end_is_told(talks: Talks):
    request = {
        "mode": "url",
        "message": "Sign in there",
        "url": "https://bücher.example/x?y",
        "elicitationId": "e",
    }
    completes = 'send(method="elicitation/complete", params={"elicitationId": "e"})'
    script = asks(request).replace("    return", f"    {completes}\n    return")
    async with talks(script) as talk:
        key = await talk.ask("Go")
        permission = await talk.asked()
        assert has(permission.form).host == "xn--bcher-kva.example"
        await talk.client.answer(talk.session, permission.id, "accept")
        assert await answered(talk, key) == {"action": "accept"}
        await until(lambda: "Done: Sign in there" in notices(talk.conversation.turns[-1]))


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://",
        "http://a b/",
        "https://evil.example\\@good.example/",  # a browser goes to evil.example
        "https://good.example/\\x",
        "https://good.example@evil.example/",
        "https://:word@evil.example/",
        "https://good.example/\u202e",
        "https://good.example/\u00a0",
        "https://good.example/\x7f",
        None,
    ],
)
async def test_an_address_that_is_no_page_is_never_offered(talks: Talks, url: str | None):
    request = {"mode": "url", "message": "Go", "url": url, "elicitationId": "e"}
    async with talks(asks(request)) as talk:
        assert await answered(talk, await talk.ask("Go")) == {"action": "cancel"}


async def test_what_is_asked_while_a_session_is_opened_is_asked_beside_the_chat(talks: Talks):
    script = """
def session_new(params):
    global told
    told = answers[request("elicitation/create", {"requestId": 1, "mode": "url", "message": "Sign in",
        "url": "https://a.example/", "elicitationId": "e"})].get()
    return {"sessionId": "s"}
def session_prompt(params):
    say(json.dumps(told))
    return {"stopReason": "end_turn"}
"""

    class Editor(MemoryFiles):
        async def elicit(self, window: int, agent: str, message: str, form: Form) -> tuple[str | None, Values]:
            self.said.append(f"{agent}: {message} {form.host}")
            return "accept", {}

    editor = Editor()
    async with talks(script, editor=editor) as talk:
        assert await answered(talk, await talk.ask("Go")) == {"action": "accept"}
        assert editor.said == ["Scripted Agent: Sign in a.example"]
