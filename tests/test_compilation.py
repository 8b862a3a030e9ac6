"""Programs that a session of tests hands to the next: whole ones, those last used, up to a size."""

import os

from compilation import keep_programs, lend_programs
from jax._src.compilation_cache import compress_executable


def program(home, name, size=100):
    path = home / "slabwave" / "programs-0" / f"{name}-cache"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compress_executable(os.urandom(size)))
    return path


def names(home):
    return sorted(path.name for path in home.rglob("*") if path.is_file())


def test_whole_programs_go_from_session_to_session(tmp_path):
    first, kept, second = (tmp_path / name for name in ("first", "kept", "second"))
    whole, cut = program(first, "whole"), program(first, "cut")
    cut.write_bytes(cut.read_bytes()[:-20])  # whoever wrote it was killed
    (first / "fonts.json").touch()
    keep_programs(first, kept)
    assert names(kept) == ["whole-cache"]
    lend_programs(second, kept)
    assert (second / whole.relative_to(first)).read_bytes() == whole.read_bytes()
    program(second, "new")
    keep_programs(second, kept)
    assert names(kept) == ["new-cache", "whole-cache"]


def test_those_not_used_for_longest_go_first(tmp_path):
    session, kept = tmp_path / "session", tmp_path / "kept"
    for name in "abcd":
        program(session, name, size=10_000)
    keep_programs(session, kept)
    for age, name in enumerate("abcd"):
        os.utime(next(kept.rglob(f"{name}-cache")), (1e9 - age, 1e9))
    keep_programs(tmp_path / "nothing new", kept, most_bytes=25_000)
    assert names(kept) == ["a-cache", "b-cache"]
