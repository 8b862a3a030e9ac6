"""Makes some pages from the program when `make docs` builds the site, and changes links out of docs/."""

import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import made_pages

SOURCE = re.compile(r'(href="(?![a-z]+:)[^"#]*)\.(?:md|py)(["#])')
LINK = re.compile(r'(?:href|src)="(?![a-z]+:|//|data:|#)([^"#?]+)(?:#([^"]*))?"')
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_startup(**_: object) -> None:
    """Let the tutorials find `slabwave` next to the Python that builds the pages, and show its output in one piece.

    A shell's output reaches a notebook a hundred characters at a time; mkdocs-jupyter has no key to have them joined.
    """
    from nbconvert.preprocessors import ExecutePreprocessor

    ExecutePreprocessor.coalesce_streams = True
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def on_config(config: Any, **_: object) -> Any:
    """Put the pages of equations into the table of contents, behind their list."""
    for part in config.nav:
        if "Equations" in part:
            part["Equations"] += made_pages.contents()
    return config


def on_files(files: Files, config: Any, **_: object) -> Files:
    """Add the pages that are made from the program."""
    os.environ["COLUMNS"] = "100"  # of what argparse prints
    for path, text in made_pages.pages():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Words of a link that leads out of docs/ and so to no page, with the file in the checkout behind them."""
    if "/" in page.file.src_uri:
        return markdown
    return OUTSIDE.sub(lambda link: f"{link[1]} (`{link[2]}`)" if link[1] != link[2] else f"`{link[2]}`", markdown)


def on_page_content(html: str, page: Any, **_: object) -> str:
    """Links of a tutorial name the sources of pages, and mkdocs-jupyter leaves them as they are."""
    return SOURCE.sub(r"\1.html\2", html) if page.file.src_uri.startswith("tutorials/") else html


def on_post_build(config: Any, **_: object) -> None:
    """Refuse a site with a link that leads nowhere; mkdocs itself checks those of Markdown alone."""
    pages = {path.resolve(): path.read_text(encoding="utf-8") for path in Path(config.site_dir).rglob("*.html")}
    for path, text in pages.items():
        for target, anchor in LINK.findall(text) if path.name != "404.html" else ():
            found = (path.parent / unquote(target)).resolve()
            found = found / "index.html" if found.is_dir() else found
            if not found.exists() or (anchor and found in pages and f'id="{anchor}"' not in pages[found]):
                raise PluginError(
                    f"{path.relative_to(Path(config.site_dir).resolve())}: {target}#{anchor} leads nowhere"
                )
