"""Decodes the content blocks of the Agent Client Protocol: texts, links, embedded resources. Others are named."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag

from ..conversation import events
from .wire import Wire, as_object


class _Text(Wire):
    text: str


class _Link(Wire):
    uri: str
    name: str = ""


class _Named(Wire):
    uri: str


class _Resource(Wire):
    resource: _Named


class OtherBlock(Wire):
    """A block of a kind that isn't shown, or that lacks what its kind needs."""

    type: Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "something")] = "something"


def _content_kind(value: Any) -> str:
    fields = as_object(value)
    kind, held = fields.get("type"), as_object(fields.get("resource"))
    needed = {"text": fields.get("text"), "resource_link": fields.get("uri"), "resource": held.get("uri")}
    return kind if isinstance(kind, str) and isinstance(needed.get(kind), str) else "other"


ContentBlock = Annotated[
    Annotated[_Text, Tag("text")]
    | Annotated[_Link, Tag("resource_link")]
    | Annotated[_Resource, Tag("resource")]
    | Annotated[OtherBlock, Tag("other")],
    Discriminator(_content_kind),
]
"""A block of a message or of a tool call."""


def decode_content(content: ContentBlock) -> events.Content:
    """The block of a message."""
    match content:
        case _Text(text=text):
            return events.TextContent(text)
        case _Link(uri=uri, name=name):
            return events.ResourceLink(uri, name or uri.rpartition("/")[2])
        case _Resource(resource=resource):
            return events.EmbeddedResource(resource.uri)
        case OtherBlock(type=kind):
            return events.OtherContent(kind)


def plain_content(content: ContentBlock) -> str:
    """A block as text, for what a tool has shown."""
    match content:
        case _Text(text=text):
            return text
        case _Link(uri=uri) | _Resource(resource=_Named(uri=uri)):
            return uri
        case OtherBlock(type=kind):
            return f"Unsupported: {kind}."
