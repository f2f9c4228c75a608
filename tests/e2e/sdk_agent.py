"""An agent made with the official Python SDK. It repeats the prompt; “edit PATH” changes a file after a question."""

from __future__ import annotations

import asyncio
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    Agent,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    run_agent,
    text_block,
    update_agent_message,
)
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    FileEditToolCallContent,
    ForkSessionResponse,
    Implementation,
    McpCapabilities,
    PermissionOption,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionForkCapabilities,
    SessionMode,
    SessionModeState,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    ToolCallUpdate,
)

OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class SdkAgent(Agent):
    def __init__(self) -> None:
        self._client: Any = None
        self._fast, self._style = False, "short"
        self._around = ""
        self._closed: list[str] = []
        self._waits = False
        self._modes = SessionModeState(
            current_mode_id="ask", available_modes=[SessionMode(id="ask", name="Ask"), SessionMode(id="do", name="Do")]
        )

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, *args: Any, **fields: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                mcp_capabilities=McpCapabilities(http=True),
                session_capabilities=SessionCapabilities(
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                    close=SessionCloseCapabilities(),
                    fork=SessionForkCapabilities(),
                ),
            ),
            agent_info=Implementation(name="sdk", title="SDK Agent", version="1"),
            field_meta={"steering": {"supported": True}},
        )

    async def new_session(
        self, cwd: str, additional_directories: Any = None, mcp_servers: Any = None, **fields: Any
    ) -> NewSessionResponse:
        self._around = f"{additional_directories} {[each.name for each in mcp_servers or ()]}"
        return NewSessionResponse(session_id="one", modes=self._modes, config_options=self._options())

    def _options(self) -> list[Any]:
        styles = [
            SessionConfigSelectOption(value="short", name="Short"),
            SessionConfigSelectOption(value="long", name="Long"),
        ]
        return [
            SessionConfigOptionBoolean(id="fast", name="Fast", type="boolean", current_value=self._fast),
            SessionConfigOptionSelect(
                id="style", name="Style", type="select", current_value=self._style, options=styles
            ),
        ]

    async def set_config_option(self, config_id: str, session_id: str, value: str | bool, **fields: Any) -> Any:
        if config_id == "fast":
            self._fast = value is True
        else:
            self._style = str(value)
        return SetSessionConfigOptionResponse(config_options=self._options())

    async def load_session(self, cwd: str, session_id: str, *args: Any, **fields: Any) -> LoadSessionResponse:
        await self._client.session_update(session_id, update_agent_message(text_block("As before.")))
        return LoadSessionResponse(modes=self._modes)

    async def fork_session(self, session_id: str, *args: Any, **fields: Any) -> ForkSessionResponse:
        return ForkSessionResponse(session_id=f"{session_id}, once more")

    async def close_session(self, session_id: str, **fields: Any) -> CloseSessionResponse:
        self._closed.append(session_id)
        return CloseSessionResponse()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "session/steering" or not self._waits:
            return {"outcome": "promptRequired"}
        self._steered.set_result(params["prompt"][0]["text"])
        return {"outcome": "injected"}

    async def set_session_mode(self, session_id: str, mode_id: str, **fields: Any) -> SetSessionModeResponse:
        return SetSessionModeResponse()

    async def prompt(self, *args: Any, **fields: Any) -> PromptResponse:
        session, blocks = fields["session_id"], fields["prompt"]
        words = "".join(getattr(block, "text", "") for block in blocks)
        if words == "around":
            words = f"{self._around} {self._closed}"
        if words == "wait":
            self._waits, self._steered = True, asyncio.get_running_loop().create_future()
            words = await self._steered
        if words.startswith("edit "):
            words = await self._edit(session, words.removeprefix("edit "))
        await self._client.session_update(session, update_agent_message(text_block(words)))
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **fields: Any) -> None:
        pass

    async def _edit(self, session: str, path: str) -> str:
        try:
            before = (await self._client.read_text_file(path=path, session_id=session)).content
        except RequestError as error:
            return f"not read: {error}"
        diff = FileEditToolCallContent(type="diff", path=path, old_text=before, new_text=before.upper())
        call = ToolCallUpdate(tool_call_id="t", title="Edit", kind="edit", content=[diff])
        answer = await self._client.request_permission(session_id=session, tool_call=call, options=OPTIONS)
        if getattr(answer.outcome, "option_id", None) != "yes":
            return "not allowed"
        await self._client.write_text_file(path=path, content=before.upper(), session_id=session)
        return "written"


if __name__ == "__main__":
    made: Any = SdkAgent  # it leaves out the methods that it doesn't offer
    asyncio.run(run_agent(made(), use_unstable_protocol=True))
