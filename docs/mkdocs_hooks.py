"""What `make docs` changes in the pages: links out of docs/ lead to no page of the site, and become names of files."""

import re

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Words of a link that leads out of docs/, with the file in the checkout behind them."""
    return OUTSIDE.sub(lambda link: f"{link[1]} (`{link[2]}`)" if link[1] != link[2] else f"`{link[2]}`", markdown)
