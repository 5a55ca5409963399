"""Equations of the site as MathML, made when it is built: no script, no other server.  A hook of mkdocs."""

import html
import re

from latex2mathml.converter import convert

LONG = 40
"""Characters of TeX that may not fit the line of a phone."""

MARKED = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.+?)\\[)\]]</\1>', re.S)


def on_page_content(content: str, **_) -> str:
    """The page with its equations; one that is wider than the page can be scrolled."""

    def equation(found: re.Match) -> str:
        tex = html.unescape(found[3]).strip()
        scrolled = "overflow-x: auto; overflow-y: hidden"
        if found[2] == "[":
            return f'<div style="{scrolled}">{convert(tex, display="block")}</div>'
        within = f'<span style="display: inline-block; max-width: 100%; {scrolled}; vertical-align: bottom">'
        return f"{within}{convert(tex)}</span>" if len(tex) > LONG else convert(tex)

    return MARKED.sub(equation, content)
