"""Types of parameters as JSON holds them, and back."""

from __future__ import annotations

import types
import typing
from typing import Any

from pydantic import Field

PLAIN: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool, "none": type(None)}
WORDS = {kind: word for word, kind in PLAIN.items()}


def as_json(hint: Any) -> Any:
    """A type that `solver.config.in_run_file` makes: a word, `{"choices": …}`, `{"list": …}`, or a list of options."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {"choices": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return [as_json(option) for option in arguments]
    if origin is typing.Annotated:
        return {"list": as_json(typing.get_args(arguments[0])[0])}
    return WORDS[hint]


def from_json(written: Any) -> Any:
    """The type that `as_json` has written."""
    if isinstance(written, str):
        return PLAIN[written]
    if isinstance(written, list):
        return typing.Union[tuple(from_json(option) for option in written)]  # noqa: UP007
    if "choices" in written:
        return typing.Literal[tuple(written["choices"])]
    return typing.Annotated[tuple[from_json(written["list"]), ...], Field(strict=False)]  # type: ignore[misc]
