"""Makes HTML in which text cannot become markup: all text is escaped, except the `Html` that this file makes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

# a page may load nothing: its scripts and styles are in the page, its pictures are data
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
VOID = {"img", "meta"}


class Html(str):
    """Markup that was made by `element`."""

    __slots__ = ()


def element(tag: str, *inner: Any, **attributes: Any) -> Html:
    """An element. Its contents are escaped unless they are Html; `class_` gives the attribute class."""
    given = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    words = "".join(f' {name}="{escape(str(value))}"' for name, value in given.items())
    if tag in VOID:
        return Html(f"<{tag}{words}>")
    return Html(f"<{tag}{words}>{joined(inner)}</{tag}>")


def joined(parts: Iterable[Any]) -> Html:
    """Concatenate parts; those that are not Html are escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(str(part)) for part in parts))


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], class_: str | None = None) -> Html:
    """A table; the first entry of a row is its name."""
    top = element("thead", element("tr", *(element("th", entry) for entry in head))) if head else ""
    body = [element("tr", element("th", row[0]), *(element("td", entry) for entry in row[1:])) for row in rows]
    return element("div", element("table", top, element("tbody", *body), class_=class_), class_="wide")


def section(title: str, *inner: Any) -> Html:
    """A part of a page with its heading; empty if it has no contents."""
    return element("section", element("h2", title), *inner) if any(inner) else Html("")


def details(summary: str, *inner: Any) -> Html:
    """A part that is folded until the reader opens it."""
    return element("details", element("summary", summary), *inner)


def picture(png: str, description: str, share: float = 1.0) -> Html:
    """A PNG in base64 as a picture that fills a share of the width."""
    width = f"{min(share, 1.0):.0%}"
    return element("figure", element("img", src=f"data:image/png;base64,{png}", alt=description, width=width))


def data_script(content: Any) -> Html:
    """Values for the page's script, in a form that cannot end the element early."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="data">{text}</script>')


def page(title: str, body: Html, charts: Sequence[Any]) -> str:
    """A whole page, with its own style and script, and the data of its charts."""
    head = [
        element("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        Html(f"<style>{_resource('page.css')}</style>"),
    ]
    script = Html(f"<script>{_resource('charts.js')}</script>")
    whole = joined([*head, Html("<svg width='0' height='0' hidden></svg>"), body, data_script(charts), script])
    return f'<!DOCTYPE html>\n<html lang="en">\n{whole}\n</html>\n'


def _resource(name: str) -> str:
    return (resources.files("solver.report") / name).read_text(encoding="utf-8")
