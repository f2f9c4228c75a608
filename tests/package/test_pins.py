from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

REQUIREMENTS = ("runtime", "dev", "stubs", "reviewer", "uv")
CLIS = {
    "qwen": ("0.1.3", "0.5.0", "0.5.2", "0.8.2", "0.12.0", "0.15.10", "0.21.2"),
    "gemini": ("0.8.2", "0.25.0", "0.31.0", "0.61.0"),
    "claude-agent-acp": ("0.101.0",),
    "auggie": ("0.36.0",),
}
LOCKS = (
    "tests/npm",
    "tests/npm/node",
    *(f"tests/npm/clis/{family}-{version}" for family, versions in CLIS.items() for version in versions),
)


def requirements(root: Path, name: str) -> dict[str, str]:
    """What follows each name in a requirement file, its hashes included."""
    text = (root / f"requirements/{name}.txt").read_text(encoding="utf-8")
    entries = re.sub(r"#.*", "", text).replace("\\\n", " ").splitlines()
    return {entry.partition("==")[0]: entry.partition("==")[2] for entry in entries if entry.strip()}


def test_no_agent_of_the_registry_s_copy_is_older_than_the_one_that_is_tried(root: Path) -> None:
    tried: dict[str, Version] = {}
    folder = root / "tests/npm"
    for path in [folder / "package.json", *folder.glob("agents/*/package.json"), *folder.glob("clis/*/package.json")]:
        for package, version in json.loads(path.read_text(encoding="utf-8")).get("dependencies", {}).items():
            name = re.sub(r"^opencode-linux-x64$", "opencode-ai", package)
            tried[name] = max(tried.get(name, Version("0")), Version(version))
    copied = json.loads((root / "companion/registry/registry.json").read_text(encoding="utf-8"))["agents"]
    named = [each["distribution"].get("npx", {}).get("package", "").rpartition("@") for each in copied]
    known = {package: version for package, _, version in named if package in tried}
    assert {"opencode-ai", "@github/copilot", "@qwen-code/qwen-code"} <= known.keys()
    assert {package: version for package, version in known.items() if Version(version) < tried[package]} == {}


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_is_pinned_with_hashes(root: Path, name: str) -> None:
    pinned = requirements(root, name)
    assert pinned
    for package, rest in pinned.items():
        assert re.fullmatch(r"[a-z0-9-]+", package)
        assert re.fullmatch(r"[0-9a-z.]+( *;[^#]*?)?( +--hash=sha256:[0-9a-f]{64})+ *", rest), package


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_a_requirement_file_holds_no_address(root: Path, name: str) -> None:
    text = (root / f"requirements/{name}.txt").read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index|--find-links", text)


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_a_requirement_file_holds_all_that_was_asked_for(root: Path, name: str) -> None:
    asked = (root / f"requirements/{name}.in").read_text(encoding="utf-8").splitlines()
    names = {re.split(r"[^a-z0-9-]", line)[0] for line in asked if line[:1].isalnum()}
    assert names <= requirements(root, name).keys()


def test_macos_on_intel_gets_a_cryptography_that_has_a_wheel_for_it(root: Path) -> None:
    lines = re.sub(r"\\\n", " ", (root / "requirements/runtime.txt").read_text(encoding="utf-8")).splitlines()
    found = [line.partition("--hash")[0].strip() for line in lines if line.startswith("cryptography==")]
    (old,) = (line for line in found if Version(line.split("==")[1].split()[0]) < Version("49"))
    marker = Requirement(old).marker
    assert marker
    intel = {"sys_platform": "darwin", "platform_machine": "x86_64"}
    assert marker.evaluate(intel)
    assert not marker.evaluate({**intel, "platform_machine": "arm64"})
    assert not marker.evaluate({**intel, "sys_platform": "linux"})


def test_shared_requirements_agree(root: Path) -> None:
    runtime, dev = requirements(root, "runtime"), requirements(root, "dev")
    for package in runtime.keys() & dev.keys():
        assert runtime[package].split()[0] == dev[package].split()[0]


@pytest.mark.parametrize("folder", LOCKS)
def test_a_lock_file_holds_hashes_and_no_address(root: Path, folder: str) -> None:
    lock = json.loads((root / folder / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package


@pytest.mark.parametrize("folder", LOCKS)
def test_npm_packages_are_asked_for_by_exact_version(root: Path, folder: str) -> None:
    project = json.loads((root / folder / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((root / folder / "package-lock.json").read_text(encoding="utf-8"))
    for kind in ("dependencies", "optionalDependencies"):
        for name, version in project.get(kind, {}).items():
            assert lock["packages"][f"node_modules/{name}"]["version"] == version
