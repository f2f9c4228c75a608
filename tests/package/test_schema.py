"""The schema for settings in a project: editors of JSON complete and check them with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from companion.settings import PROJECT_KEY, TABLE


def test_a_project_is_offered_exactly_the_settings_that_it_may_have(root: Path) -> None:
    own, project = json.loads((root / "sublime-package.json").read_text("utf-8"))["contributions"]["settings"]
    assert project["file_patterns"] == ["/*.sublime-project"]
    schema: dict[str, Any] = project["schema"]["properties"]["settings"]["properties"][PROJECT_KEY]
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == [setting.name for setting in TABLE if setting.in_projects]
    base = own["schema"]["$id"]
    for name, reference in schema["properties"].items():
        assert reference == {"$ref": f"{base}#/properties/{name}"}
        assert name in own["schema"]["properties"]


def test_other_settings_of_a_project_are_left_alone(root: Path) -> None:
    project = json.loads((root / "sublime-package.json").read_text("utf-8"))["contributions"]["settings"][1]["schema"]
    assert "additionalProperties" not in project
    assert "additionalProperties" not in project["properties"]["settings"]
