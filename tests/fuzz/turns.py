"""What has its turn: every equation, forcing, stepper, rule, kind of mesh and trial comes up before one comes again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from reference import library
from reference.runs import SPLIT
from reference.steppers import STEPPERS

# whose linear part couples fields or components: their steppers have turns of their own
COUPLED = {
    "active-nematic", "boussinesq", "brusselator", "hall-mhd", "hasegawa-wakatani", "isothermal-flow", "keller-segel",
    "klein-gordon", "mhd", "multi-layer-quasi-geostrophic", "oldroyd-b", "reduced-mhd", "shallow-water",
    "sine-gordon", "zakharov",
}  # fmt: skip
TEXTS = 20  # turns of written equations, beside one of each equation
EXACT = ("two-thirds", "three-halves", "one-half")  # under which no product is aliased
RULES = (*EXACT, "smooth", "none", "phase-shift-alternating")
MESHES = ("one", "one", "one", "slabs", "slabs", "pencils", "pencils", "groups")
FORCINGS = (
    "abc", "constant-power", "flow-rate", "frozen-shells", "kolmogorov", "ornstein-uhlenbeck", "uniform", "white-noise",
)  # fmt: skip

WALLED = (
    "rayleigh-benard", "navier-stokes", "boussinesq", "mhd", "oldroyd-b", "allen-cahn", "fisher-kpp", "gray-scott",
    "brusselator", "keller-segel", "written",
)  # fmt: skip
BETWEEN_WALLS = (*WALLED, "rayleigh-benard", "navier-stokes", "written", "written", "written", "written")


@dataclass(frozen=True)
class Turn:
    """What a run file has.

    Args:
        equation: its name; "written" for a text that is drawn.
        stepper: its name, for equations that are not split.
        rule: of dealiasing, for equations whose products the second program forms alike.
        mesh: of which kind, of `MESHES`; slabs where there are no pencils, one device in one dimension.
        forcing: its name; drawn, or none, where none is given.
        walls: whether it is between walls.
    """

    equation: str
    stepper: str
    rule: str
    mesh: str
    forcing: str | None = None
    walls: bool = False


def turns(seed: int, *, only_walls: bool = False) -> Iterator[Turn]:
    """Turns without end, in an order that a seed gives."""
    names = [*library.TABLE, *library.BUILT, *["written"] * TEXTS, *sorted(SPLIT) * 2, "boussinesq"]
    equations: list[tuple[str, str | None, bool]] = [(name, None, False) for name in names if name != "rayleigh-benard"]
    equations += [("navier-stokes", forcing, False) for forcing in (*FORCINGS, "abc")]  # which is drawn in cubes alone
    between = [(name, None, True) for name in BETWEEN_WALLS]
    equations = [*([] if only_walls else equations), *between]
    random = Random(seed)
    exponential = [name for name in STEPPERS if name.startswith("etd")]  # of which matrices have their own functions
    steppers = {
        True: shuffled_again_and_again([*sorted(STEPPERS), *exponential], random),
        False: shuffled_again_and_again(sorted(STEPPERS), random),
    }
    rules, meshes = (shuffled_again_and_again(list(those), random) for those in (RULES, MESHES))
    for equation, forcing, walls in shuffled_again_and_again(equations, random):
        yield Turn(equation, next(steppers[equation in COUPLED]), next(rules), next(meshes), forcing, walls)


def shuffled_again_and_again(those: list, random: Random) -> Iterator:  # type: ignore[type-arg]
    """All of those in a drawn order, then in another one, without end."""
    while True:
        yield from random.sample(those, len(those))
