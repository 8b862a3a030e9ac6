"""Classes that are found by the file they lie in."""

import sys

import pytest

import solver as sw
from solver.discovery import concrete_classes
from solver.initial import Initial, TaylorGreen

ROOMS = {
    "equations": ("Equation", "NavierStokes"),
    "forcing": ("Forcing", "ConstantPower"),
    "initial": ("Initial", "TaylorGreen"),
    "steppers": ("initial_state", "ETDRK4"),
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two files with a base class, an abstract class and two concrete ones."""
    folder = tmp_path / "shapes"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text("class Shape:\n    name: str\n")
    (folder / "round.py").write_text(
        "from shapes.base import Shape\n\nclass Conic(Shape):\n    pass\n\n"
        "class Ellipse(Conic):\n    name = 'ellipse'\n\nclass Circle(Conic):\n    name = 'circle'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for module in [name for name in sys.modules if name.split(".")[0] == "shapes"]:
        del sys.modules[module]


def test_concrete_classes_are_found_by_name(package):
    from shapes.base import Shape

    classes = concrete_classes("shapes", Shape)
    assert {name: cls.__name__ for name, cls in classes.items()} == {"circle": "Circle", "ellipse": "Ellipse"}
    assert list(classes) == ["circle", "ellipse"]


def test_one_name_for_two_classes_is_refused(package):
    (package / "square.py").write_text("from shapes.base import Shape\n\nclass Square(Shape):\n    name = 'circle'\n")
    from shapes.base import Shape

    with pytest.raises(ValueError, match="Circle and Square in shapes: both have the name 'circle'"):
        concrete_classes("shapes", Shape)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_offer_their_classes(room):
    module = getattr(sw, room)
    for name in ROOMS[room]:
        assert name in dir(module)
        assert getattr(module, name).__name__ == name
    with pytest.raises(AttributeError, match=rf"module 'solver.{room}' has no attribute 'Nothing'; it has .*{name}"):
        _ = module.Nothing


def test_a_class_is_the_one_of_its_file():
    from solver.initial.flows import TaylorGreen as direct

    assert TaylorGreen is direct is sw.initial.TaylorGreen
    assert concrete_classes("solver.initial", Initial)["taylor-green"] is direct


def test_types_are_checked_in_the_tests():
    """The hook that checks annotations reaches modules that are imported by name."""
    with pytest.raises(Exception, match="amplitude"):
        TaylorGreen(amplitude="large")
