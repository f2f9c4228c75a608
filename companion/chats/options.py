"""What a conversation can be switched to: a model, an approval mode, how long the model thinks, an agent's options."""

from __future__ import annotations

from ..agents import DAEMON_AGENT
from ..backends.backend import needed
from ..ids import ChatId
from .chat import Chat
from .registry import Registry


class ChatOptions:
    """Switches the options of conversations."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def switch_model(self, chat_id: ChatId, model: str) -> None:
        """Switch the model."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connection.connected
            options = needed(client.options, client, "switch its model")
            await options.switch_model(session, model)
            chat.chose(model=model)
            if options.model_is_default:
                name = next((choice.name for choice in chat.status.models if choice.id == model), model)
                told = f"{name} is now your default model in {DAEMON_AGENT}, too."
                self._registry.editor.mention(told, chat.window)

        self._registry.do(chat_id, switch)

    def switch_mode(self, chat_id: ChatId, mode: str) -> None:
        """Switch the approval mode."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connection.connected
            await needed(client.options, client, "switch its mode").switch_mode(session, mode)
            chat.chose(mode=mode)

        self._registry.do(chat_id, switch)

    def switch_effort(self, chat_id: ChatId, effort: str) -> None:
        """Switch how long the model thinks."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connection.connected
            options = needed(client.options, client, "switch how long the model thinks")
            await options.switch_effort(session, effort)
            chat.chose(effort=effort)
            if choices := await options.choices(session):
                chat.connection.conversation.set_choices(choices)

        self._registry.do(chat_id, switch)

    def set(self, chat_id: ChatId, option: str, value: str | bool) -> None:
        """Set another option of the session, to the id of a value or to true or false."""

        async def switch(chat: Chat) -> None:
            client, session = chat.connection.connected
            await needed(client.options, client, "set an option").set_option(session, option, value)
            chat.chose(options={option: value})

        self._registry.do(chat_id, switch)
