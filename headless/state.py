"""What the editor shows, as plain values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headless import completions
from headless.api.flags import PhantomLayout

if TYPE_CHECKING:
    from headless.app import Application
    from headless.window import GroupState, ViewState, WindowState


def describe(app: Application, text: bool = False) -> dict[str, Any]:
    """All windows with their views, and the messages so far."""
    active = app.active_window()
    return {
        "windows": [window_state(window, text) for window in app.windows],
        "active_window": active.id if active else None,
        "focused_view": app.focused.id if app.focused else None,
        "messages": list(app.messages),
        "clipboard": app.clipboard,
    }


def window_state(window: WindowState, text: bool) -> dict[str, Any]:
    """A window with its views."""
    view = window.active_view
    question = window.question
    return {
        "id": window.id,
        "folders": window.folders,
        "project_data": window.project,
        "layout": window.layout,
        "active_group": window.active_group,
        "active_view": view.id if view else None,
        "groups": [_group_state(group) for group in window.groups],
        "views": [
            view_state(sheet.view, text, number)
            for number, group in enumerate(window.groups)
            for sheet in group.sheets
            if sheet.view is not None
        ],
        "html_sheets": [
            {"id": sheet.id, "name": sheet.title, "html": sheet.html}
            for sheet in window.sheets()
            if sheet.html is not None
        ],
        "panels": {f"output.{name}": view_state(panel.view, text, None) for name, panel in window.panels.items()},
        "active_panel": window.active_panel,
        "question": None
        if question is None
        else {
            "kind": question.kind,
            "caption": question.caption,
            "items": question.items,
            "text": question.text,
            "selected_index": question.selected_index,
        },
        "status_message": window.status_message,
    }


def _group_state(group: GroupState) -> dict[str, Any]:
    def ids(sheets: list[Any]) -> list[int]:
        return [sheet.view.id for sheet in sheets if sheet.view is not None]

    active = group.active
    return {
        "views": ids(group.sheets),
        "selected": ids(group.selected),
        "active": active.view.id if active and active.view else None,
        "sheets": [sheet.id for sheet in group.sheets],
    }


def view_state(view: ViewState, text: bool, group: int | None) -> dict[str, Any]:
    """A view; its text too if wanted."""
    buffer = view.buffer
    state: dict[str, Any] = {
        "id": view.id,
        "buffer": buffer.id,
        "name": buffer.name,
        "title": view.title,
        "file": buffer.file_name,
        "group": group,
        "scratch": buffer.scratch,
        "read_only": buffer.read_only,
        "dirty": buffer.dirty,
        "loading": buffer.loading,
        "transient": bool(view.sheet and view.sheet.transient),
        "size": len(buffer),
        "encoding": buffer.format.encoding,
        "line_endings": buffer.format.line_ending,
        "selection": [list(span) for span in view.selection],
        "scroll": list(view.scroll),
        "settings": view.settings.own,
        "phantoms": [
            {
                "html": phantom.html,
                "region": list(phantom.span),
                "layout": PhantomLayout(phantom.layout).name.lower(),
                "key": phantom.key,
                "height": phantom.height,
            }
            for phantom in view.phantoms.values()
        ],
        "annotations": notes(view),
        "regions": {
            key: {
                "regions": [list(span) for span in regions.spans],
                "scope": regions.scope,
                "icon": regions.icon,
                "flags": regions.flags,
            }
            for key, regions in view.regions.items()
        },
        "folds": [list(span) for span in sorted(view.folds)],
        "completions": [item.trigger for item in completions.shown(view)],
        "popup": view.popup.html if view.popup else None,
        "inline_diff": view.inline_diff,
        "status": dict(view.status),
    }
    if text:
        state["text"] = buffer.text
    return state


def notes(view: ViewState) -> list[dict[str, Any]]:
    """The annotations of all regions, in their order in the text."""
    found = [
        {"html": html, "region": list(span), "key": key, "color": regions.annotation_color}
        for key, regions in [*view.regions.items(), *view.left_annotations.items()]
        for span, html in zip(regions.spans, regions.annotations, strict=False)
    ]
    return sorted(found, key=lambda each: (min(each["region"]), each["key"]))
