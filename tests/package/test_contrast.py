"""Text in phantoms is readable on both sides of each colour scheme: a contrast of 4.5 or more.

`min-contrast` is the editor's: it moves the lightness of a colour until the contrast is there. Its documentation is
what this computes by.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.sublime_text.minihtml import COLOURS, LINK_COLOUR, SIGN_COLOURS
from headless.schemes import SCHEMES

MARKS = Path(__file__).parents[2] / "companion" / "sublime_text" / "review" / "diff_marks.py"
ENOUGH = 4.5
SMALL = 0.01
"""What the steps of the lightness may leave."""
Colour = tuple[float, ...]


def parsed(text: str) -> Colour:
    named = {"white": "#ffffff", "black": "#000000"}.get(text, text)
    return tuple(int(named[at : at + 2], 16) / 255 for at in (1, 3, 5))


def luminance(colour: Colour) -> float:
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def with_contrast(colour: Colour, behind: Colour, wanted: float) -> Colour:
    hue, lightness, saturation = colorsys.rgb_to_hls(*colour)
    step = 0.002 if luminance(behind) < 0.18 else -0.002
    while contrast(colour, behind) < wanted and 0 <= lightness + step <= 1:
        lightness += step
        colour = colorsys.hls_to_rgb(hue, lightness, saturation)
    return colour


def evaluated(text: str, variables: Mapping[str, Colour]) -> Colour:
    """A colour of minihtml: `var(…)`, `color(… blend(… n%) min-contrast(… n))`, or a name."""
    text = text.strip()
    if match := re.fullmatch(r"var\(--(\w+)\)", text):
        return variables[match[1]]
    if not (match := re.fullmatch(r"color\((var\(--\w+\))(.*)\)", text)):
        return parsed(text)
    colour = evaluated(match[1], variables)
    for name, other, number in re.findall(r"([\w-]+)\((var\(--\w+\)|\w+) ([\d.]+)%?\)", match[2]):
        argument = evaluated(other, variables)
        if name == "blend":
            share = float(number) / 100
            red, green, blue = (a * share + b * (1 - share) for a, b in zip(colour, argument, strict=True))
            colour = red, green, blue
        else:
            assert name == "min-contrast"
            colour = with_contrast(colour, argument, float(number))
    return colour


def assert_readable(side: str, variables: dict[str, Colour]) -> None:
    """Assert that each text has enough contrast to the tint and to the background of a scheme."""
    [tint] = re.findall(rf"html\.{side} {{ --tint: (.*); }}", COLOURS)
    variables["tint"] = evaluated(tint, variables)
    rules = re.findall(r"^([^{\n]+) \{[^}]*\bcolor: (.*); \}$", COLOURS, re.MULTILINE)
    assert {"a", ".quiet", ".warning"} <= {selector for selector, _ in rules}
    for selector, value in [*rules, ("annotation", LINK_COLOUR)]:
        colour = evaluated(value, variables)
        behind = ["background"] if selector == "annotation" else ["tint", "background"]
        for name in behind:
            assert contrast(colour, variables[name]) >= ENOUGH - SMALL, (selector, name)


@pytest.mark.parametrize("side", sorted(SCHEMES))
def test_a_filler_and_a_header_have_different_tints(side: str) -> None:
    """Each differs from the other as much as from the text's background."""
    variables = {name: parsed(value) for name, value in SCHEMES[side].palette().items()}
    [tint] = re.findall(rf"html\.{side} {{ --tint: (.*); }}", COLOURS)
    [gap] = re.findall(rf"html\.{side} {{{{ --filler: (.*?); }}}}", MARKS.read_text("utf-8"))
    header, gap = evaluated(tint, variables), evaluated(gap, variables)
    assert variables["background"] != gap
    assert contrast(header, gap) >= contrast(gap, variables["background"])


@pytest.mark.parametrize("side", sorted(SCHEMES))
def test_every_text_of_a_phantom_is_readable_on_the_tint_and_on_the_background(side: str) -> None:
    assert_readable(side, {name: parsed(value) for name, value in SCHEMES[side].palette().items()})


@pytest.mark.parametrize("side", sorted(SCHEMES))
def test_the_numbers_and_signs_of_the_review_are_readable_on_a_line_that_a_scheme_tints(side: str) -> None:
    variables = {name: parsed(value) for name, value in SCHEMES[side].palette().items()}
    behind = [variables["background"]]
    for kind in ("inserted", "deleted"):
        found = re.fullmatch(
            r"color-mix\(in srgb, (#\w+) (\d+)%, transparent\)", SCHEMES[side].background(f"diff.{kind}") or ""
        )
        assert found
        share = int(found[2]) / 100
        pairs = zip(parsed(found[1]), variables["background"], strict=True)
        behind.append(tuple(tint * share + ground * (1 - share) for tint, ground in pairs))
    for name, value in SIGN_COLOURS.items():
        for ground in behind:
            assert contrast(evaluated(value, variables), ground) >= ENOUGH - SMALL, name


GROUNDS = {
    "Mariana": ("dark", "#303841", "#d8dee9"),
    "Monokai": ("dark", "#272822", "#f8f8f2"),
    "Breakers": ("light", "#fcfdfd", "#333333"),
    "Celeste": ("light", "#ffffff", "#000000"),
}
"""The side, the background and the text of the schemes that Sublime Text ships, as far as they are public."""
HUES = ("redish", "orangish", "yellowish", "greenish", "cyanish", "bluish", "purplish", "pinkish")
COLOUR = st.tuples(*[st.floats(0, 1)] * 3)


@pytest.mark.parametrize("scheme", GROUNDS)
@given(colours=st.lists(COLOUR, min_size=len(HUES), max_size=len(HUES)))
def test_it_is_readable_in_each_shipped_scheme_whatever_its_other_colours(scheme: str, colours: list[Colour]) -> None:
    """The editor takes the colours of hues from the scheme's rules; a person's own version may have others."""
    side, background, foreground = GROUNDS[scheme]
    variables = dict(zip(HUES, colours, strict=True))
    variables |= {"background": parsed(background), "foreground": parsed(foreground)}
    assert_readable(side, variables)


def test_a_lower_contrast_is_found() -> None:
    assert contrast(parsed("#858585"), parsed("#ffffff")) < ENOUGH
    assert contrast(parsed("black"), parsed("white")) == pytest.approx(21)


@pytest.mark.parametrize("scheme", [*GROUNDS, *sorted(SCHEMES)])
def test_the_words_of_a_decision_are_readable_without_any_correction(scheme: str) -> None:
    """Their signs have the colour; a renderer that does not know `min-contrast` shows the words as well."""
    if scheme in SCHEMES:
        side, palette = scheme, {name: parsed(value) for name, value in SCHEMES[scheme].palette().items()}
    else:
        side, background, foreground = GROUNDS[scheme]
        palette = {"background": parsed(background), "foreground": parsed(foreground)}
    [tint] = re.findall(rf"html\.{side} {{ --tint: (.*); }}", COLOURS)
    palette["tint"] = evaluated(tint, palette)
    [colour] = re.findall(r"^\.accept, \.reject \{ color: (.*); \}$", COLOURS, re.MULTILINE)
    plain = re.sub(r" min-contrast\(.*?\)\s?[\d.]*\)?\)$", ")", colour)
    for words in (evaluated(colour, palette), evaluated(plain, palette)):
        assert min(contrast(words, palette["tint"]), contrast(words, palette["background"])) >= ENOUGH


def style_of(phantom: str) -> str:
    """The style of a phantom, by the name of its text in the module, as one line."""
    [text] = re.findall(rf"^{phantom} = \((.*?)^\)$", MARKS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return re.sub(r'"\n    f?"', " ", text).replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("scheme", [*GROUNDS, *sorted(SCHEMES)])
@given(hue=COLOUR, red=COLOUR)
def test_the_links_of_fillers_and_below_removed_lines_are_readable(scheme: str, hue: Colour, red: Colour) -> None:
    """They stand on the phantom's own background, which is nearer to them than that of the text."""
    if scheme in SCHEMES:
        side, palette = scheme, {name: parsed(value) for name, value in SCHEMES[scheme].palette().items()}
    else:
        side, background, foreground = GROUNDS[scheme]
        palette = {"background": parsed(background), "foreground": parsed(foreground), "bluish": hue, "redish": red}
    for phantom, before in (("_FILLER", f"html.{side} {{ "), ("_GONE", "html { ")):
        style = style_of(phantom)
        [(name, behind)] = re.findall(rf"{re.escape(before)}--(\w+): (color\(.*?%\)\));", style)
        palette[name] = evaluated(behind, palette)
        [link] = re.findall(r"\ba \{ text-decoration: none; color: (.*?); \}", style)
        assert contrast(evaluated(link, palette), palette[name]) >= ENOUGH - SMALL, name


@pytest.mark.parametrize("side", sorted(SCHEMES))
def test_removed_lines_and_their_words_are_readable(side: str) -> None:
    palette = {name: parsed(value) for name, value in SCHEMES[side].palette().items()}
    style = style_of("_GONE")
    for name in ("gone", "word"):
        [behind] = re.findall(rf"--{name}: (color\(.*?%\)\));?", style)
        palette[name] = evaluated(behind, palette)
        [words] = re.findall(rf"background-color: var\(--{name}\);\s+color: (color\(.*?\)\s?[\d.]*\)?\))", style)
        assert contrast(evaluated(words, palette), palette[name]) >= ENOUGH - SMALL
