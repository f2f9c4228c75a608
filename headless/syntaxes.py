"""The syntaxes the stand-in knows: a path, a name and a scope each. Those of packages come with their package."""

from __future__ import annotations

import os
import re

from headless.api.items import Syntax

PLAIN_TEXT = "Packages/Text/Plain text.tmLanguage"
# (package, name, scope, extensions and file names)
_TABLE = (
    ("C++", "C", "source.c", "c h"),
    ("C++", "C++", "source.c++", "cpp cc cxx hpp hh hxx"),
    ("C#", "C#", "source.cs", "cs csx"),
    ("CSS", "CSS", "source.css", "css"),
    ("D", "D", "source.d", "d di"),
    ("Diff", "Diff", "source.diff", "diff patch"),
    ("Erlang", "Erlang", "source.erlang", "erl hrl"),
    ("Go", "Go", "source.go", "go"),
    ("Haskell", "Haskell", "source.haskell", "hs"),
    ("HTML", "HTML", "text.html.basic", "html htm xhtml"),
    ("INI", "INI", "source.ini", "ini cfg conf"),
    ("Java", "Java", "source.java", "java"),
    ("JavaScript", "JavaScript", "source.js", "js mjs cjs"),
    ("JavaScript", "JSX", "source.jsx", "jsx"),
    ("JavaScript", "TypeScript", "source.ts", "ts mts cts"),
    ("JavaScript", "TSX", "source.tsx", "tsx"),
    ("JSON", "JSON", "source.json",
     "json sublime-settings sublime-commands sublime-keymap sublime-menu sublime-project"),
    ("LaTeX", "LaTeX", "text.tex.latex", "tex ltx"),
    ("Lua", "Lua", "source.lua", "lua"),
    ("Makefile", "Makefile", "source.makefile", "mk Makefile makefile"),
    ("Markdown", "Markdown", "text.html.markdown", "md markdown mdown"),
    ("Objective-C", "Objective-C", "source.objc", "m"),
    ("Perl", "Perl", "source.perl", "pl pm"),
    ("PHP", "PHP", "embedding.php", "php"),
    ("Python", "Python", "source.python", "py pyi pyw"),
    ("R", "R", "source.r", "r R"),
    ("Ruby", "Ruby", "source.ruby", "rb Rakefile Gemfile"),
    ("Rust", "Rust", "source.rust", "rs"),
    ("Scala", "Scala", "source.scala", "scala"),
    ("ShellScript", "Bash", "source.shell.bash", "sh bash zsh .bashrc .profile"),
    ("SQL", "SQL", "source.sql", "sql"),
    ("TOML", "TOML", "source.toml", "toml"),
    ("XML", "XML", "text.xml", "xml svg plist"),
    ("YAML", "YAML", "source.yaml", "yaml yml"),
)  # fmt: skip
_FIRST_LINES = (
    (re.compile(r"^#!.*\bpython"), "source.python"),
    (re.compile(r"^#!.*\b(ba|z|da)?sh\b"), "source.shell.bash"),
    (re.compile(r"^#!.*\bnode\b"), "source.js"),
    (re.compile(r"^<\?xml\b"), "text.xml"),
)

# The marks of comments: those of lines, and of blocks with their ends.
_SLASHES, _HASH, _BLOCK = [("// ", "")], [("# ", "")], [("/*", "*/")]
_COMMENTS = {
    "c c++ cs d go java js jsx ts tsx objc php rust scala": _SLASHES + _BLOCK,
    "css": _BLOCK,
    "python ruby perl r shell toml yaml makefile": _HASH,
    "lua sql haskell": [("-- ", "")],
    "html xml markdown": [("<!-- ", " -->")],
}

SYNTAXES = [Syntax(PLAIN_TEXT, "Plain Text", False, "text.plain")] + [
    Syntax(f"Packages/{package}/{name}.sublime-syntax", name, False, scope) for package, name, scope, _ in _TABLE
]
_BY_PATH = {syntax.path: syntax for syntax in SYNTAXES}
_BY_KIND = {kind: syntax for syntax, row in zip(SYNTAXES[1:], _TABLE, strict=True) for kind in row[3].split()}


_FIELD = re.compile(r"^(name|scope|hidden):[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def register(package: str, definitions: dict[str, str]) -> None:
    """Set a package's own syntaxes, given as the texts of its `.sublime-syntax` files by name."""
    forget(package)
    for file, text in definitions.items():
        fields = {key: value.strip("'\"") for key, value in _FIELD.findall(text)}
        path, name = f"Packages/{package}/{file}", file.rpartition("/")[2].removesuffix(".sublime-syntax")
        syntax = Syntax(path, fields.get("name", name), fields.get("hidden") == "true", fields.get("scope", ""))
        SYNTAXES.append(syntax)
        _BY_PATH[path] = syntax


def forget(package: str) -> None:
    """Remove a package's syntaxes; the editor's own stay."""
    known = {row[0] for row in _TABLE} | {"Text"}
    if package not in known:
        gone = [path for path in _BY_PATH if path.startswith(f"Packages/{package}/")]
        SYNTAXES[:] = [syntax for syntax in SYNTAXES if syntax.path not in gone]
        for path in gone:
            del _BY_PATH[path]


def syntax_by_path(path: str) -> Syntax | None:
    """The syntax with this packages path."""
    return _BY_PATH.get(path)


def syntaxes_by_scope(scope: str) -> list[Syntax]:
    """The syntaxes with exactly this scope."""
    return [syntax for syntax in SYNTAXES if syntax.scope == scope]


def syntax_for_file(path: str, first_line: str = "") -> Syntax:
    """The syntax for a file's name or first line; plain text if none is known."""
    name = os.path.basename(path)
    extension = name.rpartition(".")[2]
    for kind in (name, extension):
        if kind in _BY_KIND:
            return _BY_KIND[kind]
    for pattern, scope in _FIRST_LINES:
        if pattern.search(first_line):
            return syntaxes_by_scope(scope)[0]
    return SYNTAXES[0]


def resolve(syntax: str) -> Syntax | None:
    """The syntax of a packages path or of a `scope:` string."""
    if syntax.startswith("scope:"):
        return next(iter(syntaxes_by_scope(syntax[6:])), None)
    return syntax_by_path(syntax)


def comment_variables(scope: str) -> list[dict[str, str]]:
    """The variables TM_COMMENT_START and TM_COMMENT_END of a syntax, with _2 and so on, as View.meta_info has them."""
    words = scope.split(".")
    marks = next((found for names, found in _COMMENTS.items() if set(names.split()) & set(words)), [])
    variables = []
    for number, pair in enumerate(marks, 1):
        suffix = f"_{number}" if number > 1 else ""
        for name, value in zip(("TM_COMMENT_START", "TM_COMMENT_END"), pair, strict=True):
            if value:
                variables.append({"name": name + suffix, "value": value})
    return variables
