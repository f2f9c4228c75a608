"""minihtml for a browser: its styles kept to one box, its colour functions made CSS."""

from __future__ import annotations

import re

_STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL | re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_OUTER = re.compile(r"</?(?:html|body|head)\b[^>]*>", re.IGNORECASE)
_BODY_ID = re.compile(r"<body\b[^>]*\bid=[\"']?([\w-]+)", re.IGNORECASE)
_ROOTS = re.compile(r"^(?:html|body|:root)\b((?:[.#][\w-]+)*)")
_SYSTEM_FONT = re.compile(r"font-family:\s*system\b(?!-)")
_PERCENT = re.compile(r"^(.*?)\s+([\d.]+)%")


def scoped(html: str, box: str) -> str:
    """Minihtml whose styles apply inside the element with the class `box` alone."""
    rules = [rule for style in _STYLE.findall(html) for rule in _scoped_rules(style, box)]
    body_id = _BODY_ID.search(html)
    content = colours(_OUTER.sub("", _STYLE.sub("", html)))
    if body_id is not None:
        content = f'<div id="{body_id[1]}" style="all: unset; display: contents">{content}</div>'
    style = f"<style>{' '.join(rules)}</style>" if rules else ""
    return f'{style}<div class="mini {box}">{content}</div>'


def _scoped_rules(css: str, box: str) -> list[str]:
    rules = []
    for selectors, body in _RULE.findall(_COMMENT.sub("", css)):
        inside = ", ".join(_scoped_selector(each.strip(), box) for each in selectors.split(","))
        rules.append(f"{inside} {{ {colours(body.strip())} }}")
    return rules


def _scoped_selector(selector: str, box: str) -> str:
    """`html.dark a` → `.dark .box a`: the page has the classes of minihtml's html element."""
    page, rest = "", selector
    while match := _ROOTS.match(rest):
        classes = match[1]
        page += classes if classes.startswith(".") else ""
        rest = rest[match.end() :].lstrip(" >")
    return " ".join(part for part in (page, f".{box}", rest) if part)


def colours(css: str) -> str:
    """CSS for a browser: minihtml's `color(…)` as `color-mix(…)`, its `system` font as such."""
    css = _SYSTEM_FONT.sub("font-family: system-ui, sans-serif", css)
    start = css.find("color(")
    while start >= 0:
        end = _closing(css, start + len("color"))
        if end < 0:
            break
        replaced = _mixed(css[start + len("color(") : end])
        css = css[:start] + replaced + css[end + 1 :]
        start = css.find("color(", start + len(replaced))
    return css


def _closing(text: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return -1


def _mixed(inside: str) -> str:
    """The CSS for what is between the brackets of `color(…)`: a colour, then adjusters."""
    parts = _top_level_words(colours(inside))
    colour = parts[0] if parts else "inherit"
    for adjuster in parts[1:]:
        name, _, argument = adjuster.partition("(")
        argument = argument.removesuffix(")").strip()
        if name in ("blend", "blenda") and (match := _PERCENT.match(argument)):
            colour = f"color-mix(in srgb, {colour} {match[2]}%, {match[1]})"
        elif name in ("alpha", "a"):
            number = argument.removesuffix("%")
            percent = float(number) if argument.endswith("%") else float(number) * 100
            colour = f"color-mix(in srgb, {colour} {percent:g}%, transparent)"
        # The others (min-contrast, lightness …) shift a colour a little; it is left as it is.
    return colour


def _top_level_words(text: str) -> list[str]:
    words, depth = [""], 0
    for character in text.strip():
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character.isspace() and depth == 0:
            words.append("")
        else:
            words[-1] += character
    return [word for word in words if word]
