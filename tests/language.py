"""Counts habits of language in pages, docstrings and messages; `make lint` fails where a habit becomes more frequent.

`python tests/language.py` compares the counts with `ALLOWED`; `python tests/language.py HABIT` lists every place of a
habit. Where a count is lower than allowed, the check says so: lower the number in `ALLOWED` then, never raise one.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
CODE = ("solver/**/*.py", "docs/**/*.py")
KINDS = ("pages", "docstrings", "messages")

# the habit: the most places that may have it in pages, in docstrings and in messages
ALLOWED = {
    "noun": (2, 11, 21),
    "none": (0, 0, 2),
    "beside": (0, 2, 7),
    "stands": (0, 0, 3),
    "goes on": (0, 0, 4),
    "is told": (0, 0, 6),
    "beginning": (0, 0, 0),
    "argument": (0, 1, 0),
    "fragment": (0, 0, 0),
}
PHRASES = {
    "noun": re.compile(r"\b(those|that) of\b|\bwhat (is|are|it is|they are)\b", re.IGNORECASE),
    "none": re.compile(r"\b(is|are|has|have|had|of|there was) none\b"),
    "beside": re.compile(r"\bbeside\b", re.IGNORECASE),
    "stands": re.compile(r"\b(stands?|stood) (for|at|in|on|here|there|above|below|behind|before|after|with)\b"),
    "goes on": re.compile(r"\b(goes|go|went|going) on\b"),
    "is told": re.compile(r"\b(is|are|be|was) told\b|\b(asks?|asked|asking) for\b|\bhand(s|ed|ing)? over\b"),
}
CODE_IN_TEXT = re.compile(r"`[^`\n]+`")
BEGINNING = re.compile(r"\s*(what|whether|how|where|of|one)\b", re.IGNORECASE)
FRAGMENT = re.compile(r"\w+( \w+)?\.")
ARGUMENT = re.compile(r"\s+\*{0,2}\w+(, \*{0,2}\w+)*: (of|whether|how|what|where)\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Place(NamedTuple):
    """A habit at a line of a file."""

    habit: str
    kind: str
    where: str
    text: str


def in_page(file: str, text: str) -> Iterator[Place]:
    """Places in a page of Markdown, without its blocks of code."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code:
            yield from _phrases("pages", f"{file}:{number}", line)


def in_code(file: str, text: str) -> Iterator[Place]:
    """Places in a module's docstrings, and in its other strings that have a blank: most of them are messages."""
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = [node.body[0].value for node in nodes if isinstance(node, DOCUMENTED) and ast.get_docstring(node)]
    for docstring in docstrings:
        yield from _in_docstring(file, docstring)
    for node in nodes:
        if isinstance(node, ast.keyword) and node.arg in ("description", "help"):
            text = str(getattr(node.value, "value", ""))
            yield from [Place("argument", "messages", f"{file}:{node.lineno}", text)] * bool(BEGINNING.match(text))
        elif isinstance(node, ast.Constant) and node not in docstrings and " " in str(node.value).strip():
            yield from _phrases("messages", f"{file}:{node.lineno}", str(node.value))


def _in_docstring(file: str, node: ast.Constant) -> Iterator[Place]:
    if FRAGMENT.fullmatch(node.value):
        yield Place("fragment", "docstrings", f"{file}:{node.lineno}", node.value)
    for number, line in enumerate(node.value.splitlines(), node.lineno):
        yield from _phrases("docstrings", f"{file}:{number}", line)
        habit, pattern = ("beginning", BEGINNING) if number == node.lineno else ("argument", ARGUMENT)
        yield from [Place(habit, "docstrings", f"{file}:{number}", line)] * bool(pattern.match(line))


def _phrases(kind: str, where: str, text: str) -> Iterator[Place]:
    for habit, phrase in PHRASES.items():
        yield from (Place(habit, kind, where, text) for _ in phrase.finditer(CODE_IN_TEXT.sub("`…`", text)))


def compare(found: list[Place], allowed: dict[str, tuple[int, int, int]]) -> tuple[list[str], list[str]]:
    """Lines that say where there are more places than allowed, and lines that say where there are fewer."""
    counts, more, fewer = Counter((place.habit, place.kind) for place in found), [], []
    for habit, numbers in allowed.items():
        for kind, number in zip(KINDS, numbers, strict=True):
            said = f"{habit!r} in {kind}: {counts[habit, kind]} places, {number} allowed"
            if counts[habit, kind] > number:
                more.append(f"{said}; `python tests/language.py {habit!r}` lists them")
            elif counts[habit, kind] < number:
                fewer.append(f"{said}: lower the number in tests/language.py")
    return more, fewer


def main(words: list[str]) -> int:
    """Print the places of the named habits, or compare all counts with what is allowed; 1 if there are more."""
    found: list[Place] = []
    for look, names in ((in_page, PAGES), (in_code, CODE)):
        for path in sorted(path for name in names for path in ROOT.glob(name)):
            found += look(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    more, fewer = compare(found, ALLOWED)
    for line in [f"{p.where}: {p.text.strip()}" for p in found if p.habit in words] if words else [*more, *fewer]:
        print(line)
    return bool(more) and not words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
