"""Prints the longest chain of classes in `companion/` and the bases with one heir: `python -m scripts.inheritance`.

A class that only one other inherits splits what should be read in one place. Exits with 1 if there is one. A class that
is made or named for itself as well is none, nor is a protocol, an exception, a model of pydantic or an enumeration.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LANGUAGE = {
    "Protocol",
    "BaseModel",
    "Exception",
    "BaseException",
    "NamedTuple",
    "TypedDict",
    "Enum",
    "StrEnum",
    "IntEnum",
}
"""Classes of which one inherits to say what a class is."""


class Classes(ast.NodeVisitor):
    """The classes of the modules below a folder, by their qualified names."""

    def __init__(self, folder: Path) -> None:
        self.bases: dict[str, list[str]] = {}
        """Each class, and what it inherits; a class from elsewhere by its last name."""
        self.uses: defaultdict[str, int] = defaultdict(int)
        """How often a class is named other than as a base or in an import."""
        self._modules = {
            path: ".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in folder.rglob("*.py")
        }
        self._module, self._names = "", dict[str, str]()
        for visit in (self._find, self.visit):
            for path, module in self._modules.items():
                tree = ast.parse(path.read_text("utf-8"))
                self._module = module
                self._names = _imported(tree, module)
                self._names |= {
                    node.name: f"{module}.{node.name}" for node in tree.body if isinstance(node, ast.ClassDef)
                }
                visit(tree)

    def _find(self, tree: ast.Module) -> None:
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                self.bases[f"{self._module}.{node.name}"] = [self._called(base) for base in node.bases]

    def _called(self, base: ast.expr) -> str:
        base = base.value if isinstance(base, ast.Subscript) else base
        name = ast.unparse(base)
        first, _, rest = name.partition(".")
        whole = f"{self._names.get(first, first)}.{rest}".rstrip(".")
        return whole if whole in self.bases or whole.startswith("companion.") else name.rpartition(".")[2]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Look at all of it but its bases."""
        for part in (*node.decorator_list, *node.keywords, *node.body):
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        """Count a use."""
        self.uses[self._names.get(node.id, "")] += 1

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Count a use by the module's name."""
        self.uses[self._called(node)] += 1
        self.generic_visit(node)

    def chain(self, name: str) -> list[str]:
        """A class, its base and so on: the longest way up."""
        longest = max((self.chain(base) for base in self.bases[name] if base in self.bases), key=len, default=[])
        return [name, *longest]

    def is_language(self, name: str) -> bool:
        """Whether a class inherits one of LANGUAGE in any way."""
        return any(
            base in LANGUAGE or base.endswith("Error") or (base in self.bases and self.is_language(base))
            for base in self.bases[name]
        )

    def single(self) -> dict[str, str]:
        """The bases that have one heir and no use of their own, and those heirs."""
        heirs: defaultdict[str, list[str]] = defaultdict(list)
        for name, bases in self.bases.items():
            for base in bases:
                heirs[base].append(name)
        return {
            base: found[0]
            for base, found in sorted(heirs.items())
            if base in self.bases and len(found) == 1 and not self.is_language(base) and not self.uses[base]
        }


def _imported(tree: ast.Module, module: str) -> dict[str, str]:
    """What the names that a module imports from the package stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            start = parts[: len(parts) - node.level] if node.level else []
            found |= {
                name.asname or name.name: ".".join((*start, *filter(None, [node.module]), name.name))
                for name in node.names
            }
    return found


def main() -> None:
    """Print both."""
    classes = Classes(ROOT / "companion")
    longest = max(map(classes.chain, classes.bases), key=len)
    print(f"The longest chain of {len(classes.bases)} classes: {' → '.join(longest)}")
    single = classes.single()
    print(f"Bases that one class inherits: {len(single)}")
    for base, heir in single.items():
        print(f"  {base} ← {heir}")
    sys.exit(bool(single))


if __name__ == "__main__":
    main()
