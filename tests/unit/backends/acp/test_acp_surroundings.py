"""What a session gets besides its folder, and the newer parts of the protocol: taking back, steering, copies."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from companion.agents import AgentCommand, McpServer, read_mcp_servers
from companion.backends.acp import client as client_module
from companion.backends.agent import Surroundings
from companion.conversation.snapshot import Message
from tests.agent_talk import AgentTalk, FixedEnvironment, Talks, client_of, said, until
from tests.parts import has

ROW = "literalZmFrZS1zZWNyZXQtdG9rZW4tZm9yLXRlc3Q6"
COMMIT = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"
REMEMBERS = """
import json
def answer_of(method):
    return [each for each in seen if each.get("method") == method]
def session_prompt(params):
    say(json.dumps([each for each in seen if each.get("method", "").startswith(("session/", "_", "$"))]))
    return {"stopReason": "end_turn"}
"""
CAPABLE = """
def initialize(params):
    sessions = {"additionalDirectories": {}, "fork": {}, "close": {}, "list": {}}
    able = {"loadSession": True, "sessionCapabilities": sessions, "mcpCapabilities": {"http": True}}
    return {"protocolVersion": 1, "agentCapabilities": able, "_meta": {"steering": {"supported": True}}}
"""


def surrounded(talk: AgentTalk, surroundings: Surroundings, environment: dict[str, str] | None = None) -> None:
    """Have the sessions that are opened from now on get something besides."""

    async def around() -> Surroundings:
        return surroundings

    place: Any = talk.client.place
    place.surroundings = around
    if environment is not None:
        place.login = FixedEnvironment(environment)


async def told(talk: AgentTalk) -> list[dict[str, object]]:
    """What the agent has got of us."""
    return json.loads(said(await talk.done(await talk.ask("What have you seen?"))))


async def test_an_agent_gets_the_other_folders_of_the_window_if_it_takes_them(talks: Talks, tmp_path: Path):
    others = tuple(str(tmp_path / name) for name in ("one", "two"))
    async with talks(REMEMBERS + CAPABLE, session=None) as talk:
        surrounded(talk, Surroundings((talk.folder, *others)))
        await talk.open()
        [opened] = [each for each in await told(talk) if each["method"] == "session/new"]
        assert opened["params"] == {"cwd": talk.folder, "mcpServers": [], "additionalDirectories": list(others)}
        assert talk.client.folders == others
    async with talks(REMEMBERS, session=None) as talk:
        surrounded(talk, Surroundings((talk.folder, *others)))
        await talk.open()
        [opened] = [each for each in await told(talk) if each["method"] == "session/new"]
        assert opened["params"] == {"cwd": talk.folder, "mcpServers": []}
        assert talk.client.folders == ()


async def test_a_loaded_session_gets_them_again(talks: Talks, tmp_path: Path):
    async with talks(REMEMBERS + CAPABLE, session=None) as talk:
        surrounded(talk, Surroundings((str(tmp_path),)))
        await talk.open("s")
        [opened] = [each for each in await told(talk) if each["method"] == "session/load"]
        params = opened["params"]
        assert isinstance(params, dict)
        assert params["additionalDirectories"] == [str(tmp_path)]


SERVERS = {
    "issues": {"command": ["{program}", "--stdio"], "environment": {"MODE": "read", "TOKEN": "${ISSUES}"}},
    "docs": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS}"}},
    "gone": {"command": ["no-such-program"]},
    "empty": {"command": ["{program}"], "environment": {"A_TOKEN": "${MISSING}"}},
}


@pytest.mark.parametrize("has_http", [True, False])
async def test_every_agent_gets_the_servers_of_the_person(talks: Talks, tmp_path: Path, has_http: bool):
    program = tmp_path / "bin" / "server.exe"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    plain = json.loads(json.dumps(SERVERS).replace("{program}", str(program).replace("\\", "\\\\\\\\")))
    servers, wrong = read_mcp_servers(plain)
    assert wrong == []
    environment = {"PATH": "", "ISSUES": "the-secret-one", "DOCS": "the-secret-two"}
    script = REMEMBERS + (CAPABLE if has_http else "")
    async with talks(script, session=None) as talk:
        surrounded(talk, Surroundings((), servers), environment)
        await talk.open()
        [opened] = [each for each in await told(talk) if each["method"] == "session/new"]
        params = opened["params"]
        assert isinstance(params, dict)
        variables = [{"name": "MODE", "value": "read"}, {"name": "TOKEN", "value": "the-secret-one"}]
        process = {"name": "issues", "command": str(program), "args": ["--stdio"], "env": variables}
        headers = [{"name": "Authorization", "value": "Bearer the-secret-two"}]
        web = {"type": "http", "name": "docs", "url": "https://docs.example/mcp", "headers": headers}
        assert params["mcpServers"] == ([process, web] if has_http else [process])
        left_out = " ".join(talk.editor.said)
        for part in ("no program “no-such-program”", "no environment variable MISSING"):
            assert part in left_out
        assert ("takes none over HTTP" in left_out) is not has_http
        assert set(has(talk.client.process)._secrets) >= {"the-secret-one", "the-secret-two"}


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({}, "needs either"),
        ({"command": ["a"], "url": "https://a.example"}, "needs either"),
        ({"command": "a"}, "a list of a program"),
        ({"command": ["a"], "headers": {}}, "without a “url”"),
        ({"url": "http://a.example"}, "https"),
        ({"url": "https://user:word@a.example"}, "https"),
        ({"url": "https://evil.example\\@a.example"}, "https"),
        ({"url": "https://a.example", "environment": {}}, "without a “command”"),
        ({"command": ["a"], "environment": {"GITHUB_TOKEN": "ghp_literal"}}, "has a secret in “GITHUB_TOKEN”"),
        ({"url": "https://a.example", "headers": {"Authorization": "Bearer literal"}}, "has a secret"),
        ({"url": "https://a.example", "headers": {"X-Auth": "literal"}}, "has a secret"),
        ({"url": "https://a.example", "headers": {"X-Api-Key": "literal${A}"}}, "has a secret in “X-Api-Key”"),
        ({"url": "https://a.example", "headers": {"X-Custom": "Bearer literal"}}, "has a secret"),
        ({"url": "https://a.example", "headers": {"X-Custom": "Basic ${A}literal"}}, "has a secret"),
        ({"url": "https://a.example?token=literal"}, "has a secret in “token”"),
        ({"url": "https://a.example/mcp?a=1&api_key=literal"}, "has a secret in “api_key”"),
        ({"url": "https://a.example/mcp?key=literal"}, "has a secret in “key”"),
        ({"url": "https://a.example/mcp#access_token=literal"}, "has a secret in “access_token”"),
        ({"url": "https://a.example/ghp_literal/mcp"}, "has a secret in “the address”"),
        ({"url": "https://${A}@a.example"}, "https"),
        ({"url": "https://${A}.example"}, "https"),
        ({"command": ["a", "--token", "literal"]}, "has a secret in “--token”"),
        ({"command": ["a", "--api-key=literal"]}, "has a secret in “--api-key”"),
        ({"command": ["a", "-H", "Authorization: Bearer literal"]}, "has a secret in “Authorization”"),
        ({"command": ["a", "--header", "X-Auth:literal"]}, "has a secret in “X-Auth”"),
        ({"command": ["env", "GITHUB_TOKEN=literal", "a"]}, "has a secret in “GITHUB_TOKEN”"),
        ({"command": ["a", "postgres://user:literal@host/base"]}, "has a secret"),
        ({"command": ["a", "--url=https://a.example/?sig=literal"]}, "has a secret in “sig”"),
        ({"command": ["a", "ghp_literal"]}, "has a secret"),
        ({"command": ["a"], "environment": {"DATABASE": "postgres://user:literal@host/base"}}, "has a secret"),
        ({"command": ["a"], "environment": {"DB_PASS": "literal"}}, "has a secret in “DB_PASS”"),
        ({"command": ["a"], "environment": {"A": "sk-literal"}}, "has a secret in “A”"),
        ({"command": ["a", "--header=X-Api-Key: literal"]}, "has a secret in “X-Api-Key”"),
        ({"command": ["docker", "--env=API_TOKEN=literal"]}, "has a secret in “API_TOKEN”"),
        ({"command": ["a", "/token:literal"]}, "has a secret in “token”"),
        ({"command": ["a", '{"apiKey":"literal"}']}, "has a secret in “apiKey”"),
        ({"command": ["sh", "-c", r'a --config "{\"apiKey\": \"literal\"}"']}, "has a secret in “apiKey”"),
        ({"command": ["sh", "-c", "export API_TOKEN=literal; a"]}, "has a secret in “API_TOKEN”"),
        ({"command": ["sh", "-c", "a --token literal"]}, "has a secret in “--token”"),
        ({"command": ["a", "host=h user=u password=literal"]}, "has a secret in “password”"),
        ({"command": ["a", "Server=h;User Id=u;Pwd=literal"]}, "has a secret in “Pwd”"),
        ({"command": ["curl", "-u", "user:literal"]}, "has a secret in “-u”"),
        ({"command": ["curl", "--user=user:literal"]}, "has a secret in “--user”"),
        ({"command": ["a", "a.example/?api_key=literal"]}, "has a secret in “api_key”"),
        (
            {"command": ["a"], "environment": {"A": '{"Authorization":"Token literal"}'}},
            "has a secret in “Authorization”",
        ),
        ({"command": ["a"], "environment": {"CONN": "Server=h;Password=literal"}}, "has a secret in “Password”"),
        ({"command": ["a"], "environment": {"DB_PWD": "literal"}}, "has a secret in “DB_PWD”"),
        ({"command": ["a"], "environment": {"OPENAIKEY": "literal"}}, "has a secret in “OPENAIKEY”"),
        ({"command": ["a"], "environment": {"A": "ntn_literal"}}, "has a secret in “A”"),
        ({"command": ["a"], "environment": {"A": "https://hooks.slack.com/services/literal"}}, "has a secret in “A”"),
        ({"url": "https://a.example", "headers": {"\uff21uthorization": "literal"}}, "has a secret"),
        ({"url": "https://a.example", "headers": {"X-Session-Id": "literal"}}, "has a secret"),
        ({"url": "https://a.example/?a=1;token=literal"}, "has a secret in “token”"),
        ({"url": "https://a.example/mcp;token=literal"}, "has a secret in “token”"),
        ({"url": "https://a.example/mcp?%61pi_key=literal"}, "has a secret in “api_key”"),
        ({"url": f"https://a.example/s/{ROW}/mcp"}, "has a secret in “the address”"),
        ({"url": "https://a.example", "headers": {"X-Custom": ROW}}, "has a secret in “X-Custom”"),
        ({"command": ["a", ROW]}, "has a secret in “command”"),
        ({"command": ["a", f"--id={ROW}"]}, "has a secret in “command”"),
        ({"command": ["a"], "environment": {"A": ROW}}, "has a secret in “A”"),
        ({"command": ["a"], "environment": {"A": 1}}, "values that are not an object of strings"),
        ({"command": ["a"], "more": 1}, "unknown key “more”"),
    ],
)
def test_a_server_that_can_not_be_used_is_said(entry: object, why: str):
    found, [sentence] = read_mcp_servers({"it": entry})
    assert found == ()
    assert sentence.startswith("“agents_mcp_servers”: “it” ")
    assert why in sentence
    assert "literal" not in sentence


@pytest.mark.parametrize(
    "entry",
    [
        {"command": ["a", "--token", "${A}", "--key=${B}"], "environment": {"TOKEN": "${A}", "MODE": "read"}},
        {"command": ["npx", "-y", "@scope/server@1.2.3", "--max-tokens", "400", "--verbose", "/a/b:c"]},
        {"command": ["docker", "run", "-e", "GITHUB_TOKEN", "image:latest"]},
        {"command": ["a", "--url=https://a.example/?page=2", "--auth", "none", "--author", "me"]},
        {"url": "https://a.example/mcp?token=${A}&page=2", "headers": {"Authorization": "Bearer ${B}"}},
        {"url": "http://127.0.0.1:8080/${A}/mcp"},
        {"command": ["a", '{"apiKey":"${A}", "b": 1}', "--header=Authorization: Bearer ${A}"]},
        {"command": ["sh", "-c", "cd /a && TOKEN=${A} exec b --token ${A} --port 80"]},
        {"command": ["docker", "run", "-v", "/run/secrets:/run/secrets:ro", "-u", "1000:1000"]},
        {"command": ["a"], "environment": {"A": '{"Authorization": "Token ${A}"}', "B": "C:\\keys\\a"}},
        {"command": ["curl", "-u", "user:${A}"]},
        {"command": ["npx", f"github:a/b#{COMMIT}", f"git+https://a.example/b.git@{COMMIT}"]},
        {"command": ["docker", "run", f"image@sha256:{COMMIT}", "4f9c1a52-0c1e-4b9e-9f39-0d4a0b7f6a11"]},
        {"command": ["a", "--config", "/home/ada/ALongFolderNameWithoutAnyNumberInIt/settings.json"]},
    ],
)
def test_secrets_that_are_named_by_variables_and_other_words_are_no_literal_ones(entry: object):
    assert read_mcp_servers({"it": entry})[1] == []


def test_a_variable_is_filled_in_wherever_it_stands_and_stays_a_part_of_the_address():
    [process, web] = read_mcp_servers(
        {
            "process": {"command": ["a", "--token=${A}"], "environment": {"B": "b-${A}"}},
            "web": {"url": "https://a.example/mcp?token=${A}"},
        }
    )[0]
    filled = process.filled({"A": "x/@y&z"})
    assert (filled.command, filled.values) == (("a", "--token=x/@y&z"), {"B": "b-x/@y&z"})
    assert web.filled({"A": "x/@y&z"}).url == "https://a.example/mcp?token=x%2F%40y%26z"
    assert process.variables == ["A", "A"]
    with pytest.raises(KeyError, match="A"):
        web.filled({})


def test_the_name_of_an_author_is_no_secret():
    found, wrong = read_mcp_servers({"git": {"command": ["git-mcp"], "environment": {"GIT_AUTHOR_NAME": "Ann"}}})
    assert (wrong, found[0].values) == ([], {"GIT_AUTHOR_NAME": "Ann"})


async def test_words_that_a_server_gets_beside_its_secret_stay_readable(talks: Talks):
    environment = {"PATH": "", "DOCS": "the-secret", "MODE": "on", "NOTHING": ""}
    values = {"Authorization": "Bearer ${DOCS}", "X-Mode": "${MODE}", "X-Nothing": "${NOTHING}"}
    servers = (McpServer("docs", url="https://docs.example/mcp", values=values),)
    script = """
def session_prompt(params):
    print("the bearer of the-secret goes on", file=sys.stderr, flush=True)
    say("Done")
    return {"stopReason": "end_turn"}
"""
    async with talks(CAPABLE + script, session=None) as talk:
        surrounded(talk, Surroundings((), servers), environment)
        await talk.open()
        await talk.done(await talk.ask("Go"))
        assert await until(lambda: talk.client.process and talk.client.process.said) == "the bearer of … goes on"


def test_what_the_person_says_yes_to_names_the_program_and_no_secret():
    server = McpServer("issues", ("issues-mcp", "a b"), values={"TOKEN": "${ISSUES}"})
    assert server.words == "issues: issues-mcp 'a b' with TOKEN"


# Taking back


async def test_a_question_that_the_agent_takes_back_is_no_longer_asked(talks: Talks):
    script = """
def session_prompt(params):
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    call = {"toolCallId": "t", "title": "Write"}
    number = request("session/request_permission", {"sessionId": "s", "toolCall": call, "options": options})
    while not any(each.get("method") == "_asked" for each in seen): time.sleep(0.001)
    send(method="$/cancel_request", params={"requestId": number})
    answer = answers[number].get()
    say(str(answer.get("code")))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key = await talk.ask("Go")
        await talk.asked()
        talk.client.peer.notify("_asked", {})
        assert said(await talk.done(key)) == "-32800"
        assert not talk.conversation.status.permissions


async def test_a_request_that_is_taken_back_at_once_is_answered():
    sent: list[dict[str, Any]] = []
    client = client_of(AgentCommand("It", ()), {})
    client.process = cast("Any", SimpleNamespace(write=lambda line: sent.append(json.loads(line))))
    client.peer.receive(b'{"id": 7, "method": "session/request_permission", "params": {}}')
    client.peer.receive(b'{"method": "$/cancel_request", "params": {"requestId": 7}}')
    await until(lambda: sent)
    assert [(each["id"], each["error"]["code"]) for each in sent] == [(7, -32800)]


async def test_a_write_that_the_agent_takes_back_is_done_and_said_to_be(talks: Talks, project: Path):
    script = """
def session_prompt(params):
    number = request("fs/write_text_file", {"sessionId": "s", "path": os.path.join(FOLDER, "a.txt"), "content": "x"})
    send(method="$/cancel_request", params={"requestId": number})
    say(str(answers[number].get()))
    return {"stopReason": "end_turn"}
""".replace("FOLDER", repr(str(project.resolve())))
    async with talks(script) as talk:
        assert said(await talk.done(await talk.ask("Go"))) == "{}"
        assert (project / "a.txt").read_text() == "x"


async def test_a_call_that_nobody_waits_for_any_more_is_taken_back(talks: Talks, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client_module, "SESSION_LIMIT", 0.3)
    script = """
def session_load(params):
    while not any(each.get("method") == "$/cancel_request" for each in seen): time.sleep(0.001)
    raise Failure(-32800, "cancelled")
"""
    async with talks(REMEMBERS + script) as talk:
        with pytest.raises(Exception, match="didn't answer"):
            await talk.client.load(talk.session)
        talk.client.session = "s"
        messages = await told(talk)
        [load] = [each for each in messages if each["method"] == "session/load"]
        [taken] = [each for each in messages if each["method"] == "$/cancel_request"]
        assert taken["params"] == {"requestId": load["id"]}
        # The late answer is nobody's, and no news either.
        assert "was not asked" not in str(talk.conversation.turns)


async def test_a_prompt_is_never_taken_back_over_a_reload(talks: Talks):
    script = """
def session_prompt(params):
    while not any(each.get("method") == "_go" for each in seen): time.sleep(0.001)
    say(str([each["method"] for each in seen if each.get("method") == "$/cancel_request"]))
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key = await talk.ask("Go")
        await until(lambda: talk.client.peer.waits_for("session/prompt"))
        left = await talk.client.hand_over()
        if left is None:
            return  # Windows starts it again
        follower = client_of(AgentCommand("The agent", ("x",)), {})
        await follower.resume(left)
        follower.peer.notify("_go", {})
        await until(lambda: "text='[]'" in str(follower.unread))
        assert key in str(follower.unread)
        await follower.close()


# Into a turn that runs


async def test_a_message_goes_into_the_turn_of_an_agent_that_takes_one(talks: Talks):
    script = """
steered = queue.Queue()
def _session_steering(params):
    steered.put(params)
    return {"outcome": "injected"}
def session_prompt(params):
    got = steered.get()
    say(got["prompt"][0]["text"] + " " + got["_meta"]["steering"]["idleBehavior"])
    return {"stopReason": "end_turn"}
"""
    async with talks(CAPABLE + script) as talk:
        key = await talk.ask("Go")
        await until(lambda: talk.turn(key))
        sent = await talk.client.inject(talk.session, "Faster!")
        turn = await talk.done(key)
        assert said(turn) == "Faster! promptRequired"
        # The agent may say its next words at once, before the answer has been looked at.
        assert {Message("user", "Go"), Message("user", "Faster!")} <= {*turn.items}
        assert sent
        assert talk.conversation.has(sent)
        assert len(talk.conversation.turns) == 1
        assert await talk.client.inject(talk.session, "Too late") is None


@pytest.mark.parametrize("answer", ['{"outcome": "promptRequired"}', "{}", "None"])
async def test_a_message_that_no_turn_takes_becomes_a_prompt(talks: Talks, answer: str):
    script = f"""
def _session_steering(params):
    if {answer} is None: raise Failure(-32603, "no")
    return {answer}
def session_prompt(params):
    while not any(each.get("method") == "_go" for each in seen): time.sleep(0.001)
    return {{"stopReason": "end_turn"}}
"""
    async with talks(CAPABLE + script) as talk:
        key = await talk.ask("Go")
        await until(lambda: talk.turn(key))
        assert await talk.client.inject(talk.session, "Faster!") is None
        talk.client.peer.notify("_go", {})
        assert "Faster!" not in said(await talk.done(key), "user")


# Copies, paragraphs, costs


async def test_a_conversation_is_copied_by_an_agent_that_can(talks: Talks):
    script = """
def session_fork(params):
    return {"sessionId": "copy-of-" + params["sessionId"]}
def session_close(params):
    return {}
"""
    async with talks(REMEMBERS + CAPABLE + script) as talk:
        copy = await talk.client.fork(talk.session)
        assert (copy.id, copy.folder) == ("copy-of-s", talk.folder)
        await talk.client.detach(copy)
        [closed] = [each for each in await told(talk) if each["method"] == "session/close"]
        assert closed["params"] == {"sessionId": "copy-of-s"}
    async with talks() as talk:
        assert not talk.client.can("fork")


async def test_another_message_is_a_paragraph_of_its_own(talks: Talks):
    script = """
def chunk(text, message=None, kind="agent_message_chunk"):
    more = {"messageId": message} if message else {}
    update(sessionUpdate=kind, content={"type": "text", "text": text}, **more)
def session_prompt(params):
    chunk("One "); chunk("answer.")
    chunk("**Warning:** ", "m1"); chunk("two", "m1"); chunk(" words", None)
    chunk("Three", "m2")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        answers = [item.text for item in turn.items if isinstance(item, Message) and item.speaker == "answer"]
        assert answers == ["One answer.", "**Warning:** two words", "Three"]


async def test_tokens_and_costs_are_told(talks: Talks):
    script = """
def session_prompt(params):
    update(sessionUpdate="usage_update", size=1000, used=10, cost={"amount": 0.125, "currency": "usd"})
    say("Done")
    return {"stopReason": "end_turn", "usage": {"totalTokens": 130, "inputTokens": 20, "outputTokens": 30}}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert (turn.cost.read, turn.cost.written) == (100, 30)
        window = has(talk.conversation.status.window)
        assert (window.cost, window.currency) == (0.125, "USD")


@pytest.mark.parametrize("cost", ["1", '{"amount": -1, "currency": "USD"}', '{"amount": 1, "currency": "<b>"}', "{}"])
async def test_a_cost_that_is_none_hides_nothing(talks: Talks, cost: str):
    script = f"""
def session_prompt(params):
    update(sessionUpdate="usage_update", size=1000, used=10, cost={cost})
    return {{"stopReason": "end_turn", "usage": {{"totalTokens": "many"}}}}
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        window = has(talk.conversation.status.window)
        assert (window.used, window.cost, turn.cost.read) == (10, None, 0)


async def test_the_words_of_an_error_are_those_of_its_data(talks: Talks):
    script = """
def session_prompt(params):
    number = [each["id"] for each in seen if each.get("method") == "session/prompt"][-1]
    send(id=number, error={"code": -32603, "message": "Internal error", "data": {"message": "the model is away"}})
    return "silence"
"""
    async with talks(script) as talk:
        turn = await talk.done(await talk.ask("Go"))
        assert "the model is away" in turn.error


@pytest.mark.parametrize("version", [2, 99, "two"])
async def test_an_agent_that_answers_with_another_version_gets_one_sentence(talks: Talks, version: object):
    script = f"""
def initialize(params):
    return {{"protocolVersion": {version!r}}}
"""
    with pytest.raises(Exception, match="only version 1 is known"):
        async with talks(script):
            pass
