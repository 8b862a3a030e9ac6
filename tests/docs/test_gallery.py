"""The gallery shows every equation that has a case, by the command that its script runs."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

from solver.assemble import Registry
from solver.config import load
from solver.config.toml import cases

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "images" / "gallery"


@pytest.fixture(scope="module")
def gallery():
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("make_gallery", ROOT / "docs" / "make_gallery.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass asks for it
    spec.loader.exec_module(module)
    return module


def with_a_case():
    """Equations of the registry that a run file in runs/ solves."""
    used = {tomllib.loads(path.read_text())["equation"]["name"] for path in cases().values()}
    return sorted(used & set(Registry().names("equation")))


@pytest.mark.parametrize("equation", with_a_case())
def test_every_equation_with_a_case_is_in_the_gallery(equation):
    """If this fails: python docs/make_gallery.py EQUATION."""
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert f"\n## {equation}\n" in text
    assert f"(images/gallery/{equation}.png)" in text
    assert (PICTURES / f"{equation}.png").stat().st_size < 150_000


def test_pictures_are_small_and_none_is_left_over(gallery):
    pictures = list(PICTURES.iterdir())
    assert sum(picture.stat().st_size for picture in pictures) < 4_000_000
    assert {picture.stem for picture in pictures} == gallery.entries().keys() >= set(with_a_case())


def test_the_page_is_what_the_script_writes(gallery):
    """If this fails: python docs/make_gallery.py --page."""
    assert gallery.page() == (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_commands_are_run_files_with_keys_and_values_that_there_are(gallery):
    registry = Registry()
    for entry in gallery.entries().values():
        command, file, *overrides = entry.words
        assert command == "run"
        load(ROOT / file, registry, overrides)
