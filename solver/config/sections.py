"""The sections of a run file that are the same for every run, as frozen pydantic models."""

from __future__ import annotations

import datetime
import math
import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from solver.config.messages import config_error

STALL_SECONDS = 120.0
LENGTH_IN_PI = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)?\s*\*?\s*pi\s*")
CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)")
S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A table: unknown keys, wrong types and infinite numbers are refused; integers serve as floats."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls: type[S], table: Any, path: str) -> S:
        """Validate a table that was read from TOML.

        Raises:
            ConfigError: one line that names the key, the value given and the value needed.
        """
        try:
            return cls.model_validate(table)
        except ValidationError as error:
            raise config_error(error, cls, table, path) from None

    def to_table(self) -> dict[str, Any]:
        """The table in the form of TOML; keys that are not set are left out."""
        return self.model_dump(mode="json", exclude_none=True)


def length_value(written: float | str) -> float:
    """The value of a length that is written as `3.0` or `"2 pi"`.

    Raises:
        ValueError: it is neither a number nor a multiple of pi.
    """
    if not isinstance(written, str):
        return float(written)
    match = LENGTH_IN_PI.fullmatch(written)
    if match is None:
        raise ValueError(f"{written!r} is not a length; a number or a multiple of pi such as '2 pi' is needed")
    try:
        return float(match[1] or 1) * math.pi
    except ValueError:
        raise ValueError(f"{match[1]!r} is not a number; a multiple of pi such as '2 pi' is needed") from None


def position(text: str) -> float:
    """A position [length] in words of a run file or of the command line: `0.5`, or a multiple of pi such as `2 pi`.

    Raises:
        ValueError: it is neither.
    """
    try:
        return float(text)
    except ValueError:
        return length_value(text)


def _positive_length(written: float | str) -> float | str:
    if not 0 < length_value(written) < math.inf:
        raise ValueError("a positive length is needed")
    return written


def seconds(written: float | str) -> float:
    """Seconds of a clock time that is written as seconds, `"HH:MM:SS"` or, as in Slurm, `"D-HH:MM:SS"`.

    Raises:
        ValueError: it has another form.
    """
    if not isinstance(written, str):
        return float(written)
    match = CLOCK.fullmatch(written.strip())
    if match is None:
        raise ValueError(f"{written!r} is not a time; seconds, 'HH:MM:SS' or 'D-HH:MM:SS' is needed")
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    if minutes > 59 or rest > 59:
        raise ValueError(f"{written!r} is not a time; minutes and seconds of at most 59 are needed")
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def _as_text(written: object) -> object:
    """A time that stands without quotes, which TOML knows as one of the day, as the text that it is."""
    return written.isoformat() if isinstance(written, datetime.time) else written


def _positive_time(written: float | str) -> float | str:
    if not 0 < seconds(written) < math.inf:
        raise ValueError("a positive time is needed")
    return written


Clock = Annotated[float | str, BeforeValidator(_as_text), AfterValidator(_positive_time), "a time"]
Length = Annotated[float | str, AfterValidator(_positive_length), "a length"]
Integers = Annotated[tuple[int, ...], Field(strict=False)]
Dealias = Literal[
    "two-thirds", "three-halves", "one-half", "phase-shift-random", "phase-shift-alternating", "smooth", "none"
]


def _one_for_each_axis(written: Any, section: ValidationInfo) -> Any:
    """Lengths of all axes, of one that holds for each of them."""
    return written if isinstance(written, list | tuple) else [written] * len(section.data.get("shape", ()))


Lengths = Annotated[
    tuple[Length, ...],
    Field(strict=False),
    BeforeValidator(_one_for_each_axis, json_schema_input_type=Length | tuple[Length, ...]),
]


FORMS = '"no-slip", "free-slip", { moving = [1.0, 0.0] }, { value = 1.0 }, { slope = -1.0 } or { robin = [a, b, c] }'
TEXTS = 'a number may be a text of t, "cos(2*t)", but for a and b; of a scalar also of the place along the wall'
COUNTS = {"value": (1,), "slope": (1,), "robin": (3,), "moving": (1, 2)}  # of numbers


def _condition(written: Any, section: ValidationInfo) -> Any:
    """A condition at a wall: a word, or a table of one key, of numbers or texts."""
    if written in ("no-slip", "free-slip"):
        return written
    if isinstance(written, dict) and len(written) == 1:
        [(word, given)] = written.items()
        numbers = given if isinstance(given, list | tuple) else [given]
        known = all(map(_is_number, numbers[:2] if word == "robin" else ())) and all(map(_is_given, numbers))
        if known and len(numbers) in COUNTS.get(word, ()) and (word in ("robin", "moving")) >= (numbers is given):
            made = [v if isinstance(v, str) else float(v) for v in numbers]
            return {word: made if word in ("robin", "moving") else made[0]}
    key = f"{section.field_name} = {written}: " if isinstance(written, dict) else ""
    raise ValueError(f"{key}{FORMS} is needed")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_given(value: Any) -> bool:
    """True of a number, and of a text that an equation may read as one."""
    return _is_number(value) or (isinstance(value, str) and bool(value.strip()))


Given = float | str
Condition = Annotated[Any, BeforeValidator(_condition, json_schema_input_type=str | dict[str, Given | list[Given]])]


class WallsSection(Section):
    """`[walls.FIELD]`: what a field, or an unknown of its text, meets at the two walls."""

    lower: Condition | None = Field(None, description=f"condition where the last coordinate is 0: {FORMS}; {TEXTS}")
    upper: Condition | None = Field(None, description="condition where it is the height")


class ScalarSection(Section):
    """`[scalars.NAME]`: a passive scalar that the flow carries."""

    diffusivity: float = Field(0.0, description="κ ≥ 0 [length²/time]")
    mean_gradient: Annotated[tuple[float, ...], Field(strict=False)] | None = Field(
        None, description="G, one number for each direction, where the whole scalar is G·x + c; none by default"
    )
    source: str = Field(
        "", description="S [c/time], a text of x, y, z, t, fields, and what the equation's text names; '1' gives an age"
    )
    decay: float | None = Field(None, description="rate λ ≥ 0 at which it decays [1/time]; none by default")
    field: str | None = Field(
        None, description="name of the vector that carries it; the equation's first velocity by default"
    )
    units: str = Field("1", description="units of its values")


class GridSection(Section):
    """`[grid]`: the box."""

    shape: Integers = Field(description="points per axis, 1 where nothing varies; with three-halves, modes per axis")
    lengths: Lengths = Field(
        "2 pi",  # type: ignore[assignment]
        validate_default=True,
        description="box lengths, one for all axes or one each: numbers, or multiples of pi as '2 pi'",
    )
    dealias: Dealias | None = Field(None, description="which modes are kept; by default what suits the equation")
    precision: Literal["float64", "float32"] = "float64"
    walls: Literal["x", "y", "z"] | None = Field(
        None, description="the last direction, if two walls bound it: its points are then Gauss–Legendre points"
    )

    @model_validator(mode="after")
    def _check_number_of_lengths(self) -> GridSection:
        if len(self.lengths) != len(self.shape):
            raise ValueError(
                f"grid.lengths has {len(self.lengths)} entries; grid.shape has {len(self.shape)}, as many are needed"
            )
        return self

    @property
    def length_values(self) -> tuple[float, ...]:
        """The lengths as numbers."""
        return tuple(length_value(written) for written in self.lengths)


class TimeSection(Section):
    """`[time]`: the stepper, one of `step`, `cfl` and `tolerance` (with a longest step, if wanted), and the end."""

    stepper: str = Field(description="name of a time stepper; `slabwave list steppers` names them")
    end: float = Field(ge=0, description="time at which the run ends")
    step: float | None = Field(None, gt=0, description="fixed time step")
    cfl: float | None = Field(None, gt=0, description="CFL number that the steps keep")
    tolerance: float | None = Field(None, gt=0, description="relative error that a step may make, by its own estimate")
    of_fluctuations: bool = Field(
        False, description="true measures the errors of tolerance against the fields without their means"
    )
    max_step: float | None = Field(None, gt=0, description="longest step that cfl or tolerance may choose")
    wall_limit: Clock | None = Field(
        None, description="the run stops with a checkpoint before its job has lasted so long: seconds or 'HH:MM:SS'"
    )
    stall_limit: float = Field(STALL_SECONDS, gt=0, description="seconds without a step after which the run is ended")
    energy_limit: float | None = Field(
        None, gt=0, description="half the mean square of all fields beyond which the run counts as blown up"
    )

    @model_validator(mode="after")
    def _check_control(self) -> TimeSection:
        given = sum(control is not None for control in (self.step, self.cfl, self.tolerance))
        if given != 1:
            count = {0: "none is given", 2: "two are given", 3: "all are given"}[given]
            raise ValueError(f"time.step, time.cfl, time.tolerance: {count}; one of them is needed")
        if self.of_fluctuations and self.tolerance is None:
            raise ValueError("time.of_fluctuations = true needs time.tolerance")
        if self.max_step is not None and self.step is not None:
            raise ValueError(f"time.max_step = {self.max_step} needs time.cfl or time.tolerance")
        return self


class GroupsSection(Section):
    """`devices.groups`: how many devices step, and how many carry out outputs meanwhile."""

    step: int = Field(gt=0, description="devices that step: the first ones")
    analyse: int = Field(gt=0, description="devices that carry out outputs: those that follow")

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, table: Any) -> Any:
        unknown = [name for name in table if name not in cls.model_fields] if isinstance(table, dict) else []
        if unknown:
            raise ValueError(f"devices.groups.{unknown[0]}: no such group in run files; step and analyse are needed")
        return table

    @property
    def total(self) -> int:
        """Devices of both groups."""
        return self.step + self.analyse

    def __str__(self) -> str:
        return f"{{ step = {self.step}, analyse = {self.analyse} }}"


class DevicesSection(Section):
    """`[devices]`: what to run on."""

    platform: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    virtual: Annotated[int, Field(gt=0)] | Literal["auto"] = Field(
        "auto", description="virtual CPU devices in this process; auto = one per core"
    )
    decomposition: Literal["slab", "pencil"] = "slab"
    mesh: Integers | None = Field(None, description="sides of the mesh of pencils, such as [4, 2]")
    use: Integers | None = Field(None, description="indices of the devices to use; all of them by default")
    groups: Annotated[GroupsSection | None, "a table such as { step = 6, analyse = 2 }"] = Field(
        None, description="devices that step, and others that carry out outputs meanwhile: { step = 6, analyse = 2 }"
    )
    engine: Literal["slabwave", "shard_map", "jaxdecomp"] = "slabwave"
    fields_per_exchange: Annotated[int, Field(gt=0)] | Literal["auto", "all"] = Field(
        "auto",
        description="most fields that share an exchange; auto = 1 on GPUs with many points each, all of them elsewhere",
    )
    chunks: Annotated[int, Field(gt=0)] = Field(
        1, description="parts that an exchange of slabs in 3-D is cut into, one after the other"
    )
    waves: Annotated[int, Field(gt=0)] | Literal["auto"] = Field(
        "auto",
        description="number of parts in which products are taken: one part is sent while the next is computed; "
        "auto = 2 (pencils 3) on GPUs of several hosts with many points each, 1 elsewhere",
    )
    exchange_precision: Literal["grid", "float32", "float16"] = Field(
        "grid",
        description="precision of exchanged numbers; below the grid's it saves bytes, and results depend on the "
        "number of devices to that precision",
    )

    @model_validator(mode="after")
    def _check_precision(self) -> DevicesSection:
        if self.exchange_precision != "grid" and self.engine == "jaxdecomp":
            raise ValueError(
                f"devices.exchange_precision = {self.exchange_precision!r} with devices.engine = 'jaxdecomp': that "
                "engine sends numbers as they are; 'grid', or the engine slabwave or shard_map, is needed"
            )
        return self

    @model_validator(mode="after")
    def _check_mesh(self) -> DevicesSection:
        if self.use is not None and (not self.use or min(self.use) < 0 or len(set(self.use)) < len(self.use)):
            raise ValueError(f"devices.use = {list(self.use)}: distinct indices from 0 are needed, at least one")
        if self.use is not None and self.groups is not None:
            raise ValueError(
                f"devices.use = {list(self.use)} with devices.groups = {self.groups}: one of them is needed"
            )
        if self.mesh is None:
            return self
        if self.decomposition != "pencil":
            raise ValueError(f"devices.mesh = {list(self.mesh)} fixes pencils: decomposition = 'pencil' is needed")
        if len(self.mesh) != 2 or min(self.mesh) < 1:
            raise ValueError(f"devices.mesh = {list(self.mesh)}: two positive sides are needed, such as [4, 2]")
        if self.groups is not None and math.prod(self.mesh) != self.groups.step:
            raise ValueError(
                f"devices.mesh = {list(self.mesh)} with devices.groups = {self.groups}: sides whose product is the "
                f"{self.groups.step} devices that step are needed"
            )
        return self


class RandomSection(Section):
    """`[random]`."""

    seed: int = Field(
        0,
        ge=0,
        lt=2**63,
        description="seed of all random numbers but starts of particles and places of bodies",
    )


Names = Annotated[dict[str, str], "a table of texts by name"]
Texts = Annotated[tuple[str, ...], Field(strict=False)]
Numbers = Annotated[tuple[float, ...], Field(strict=False)]
Rows = Annotated[tuple[Numbers, ...], Field(strict=False)]
Parameter = Annotated[float | Numbers | Rows, "a finite number, a list or rows of them"]


class WrittenEquation(Section):
    """`[equation]` with `name = "written"`: an equation as text; docs/writing.md has the language."""

    write: Texts = Field(description="the equations, one = in each")
    fields: Names = Field(
        description="rank of each field by name: scalar, vector, tensor, symmetric tensor, wavefunction"
    )
    unknowns: Names = Field({}, description="rank of each unknown, which is not stored and has no start, such as p")
    define: Names = Field({}, description="definitions of further names")
    units: Names = Field({}, description="units of each field, where they are known")
    means: Annotated[dict[str, float | Literal["x", "y", "z"]], "a table of zeros or axes by name"] = Field(
        {}, description="fields whose mean is 0 and stays 0, by name: 0, or an axis, 'x', for the mean along it"
    )
    components: Annotated[dict[str, Texts], "a table of lists of names"] = Field(
        {}, description="names of the components of fields, by field; made from the field's name by default"
    )
    functions: Names = Field(
        {},
        description="functions of your own by name, as 'file.py:function': of numbers at a point, or of wavenumbers in "
        "symbol(name, f), in jax.numpy",
    )
    of_whole_fields: Texts = Field(
        (), description="names of those functions that look at all points: of arrays over the points, to one such array"
    )
    energies: Names | None = Field(
        None, description="densities that are quadratic in the fields, whose budgets are kept"
    )
    series: Names = Field(
        {},
        description="further columns of series.csv: means of densities, or expressions of max(f), min(f), mean(f)",
    )
    invariants: Names | None = Field(
        None, description="densities that are quadratic in the fields and move between scales; the energies by default"
    )
    spectra: Texts = Field((), description="columns that are quadratic in the fields and have a spectrum too")
    vectors: Names = Field({}, description="vectors linear in the fields, whose scales and structure are of interest")
    flows: Names = Field(
        {},
        description="velocities that carry passive scalars and are no vector, or more than the vector of this name, as "
        "a flow with its uniform part",
    )
    conserved: Texts | Names = Field(
        (), description="columns whose drift since the start is a column too, or densities of other quantities by name"
    )
    rate: str = Field(
        "", description="the rate whose maximum the CFL number uses [1/time], where it does not follow from the text"
    )
    limits: Names = Field({}, description="limit of each parameter, by name: '>= 0', '> 0' or '>= 1'")
    plan: Literal["fewest transforms", "as written"] = Field(
        "fewest transforms",
        description="'fewest transforms' may rewrite products; 'as written' does not",
    )
    unbounded: bool = Field(
        False, description="true allows a linear part that amplifies ever shorter waves ever faster"
    )
    parameters: Annotated[dict[str, Parameter], "a table of numbers by name"] = Field(
        {},
        description="the numbers of the text's parameters, by name; a list for a vector, a list of rows for a tensor",
    )


def check_line(text: str) -> str:
    """Check a text that is written into lines of the log.

    Raises:
        ValueError: it has more than one line, or contains other control characters.
    """
    if not text.isprintable():
        raise ValueError("one line of printable characters is needed")
    return text


Line = Annotated[str, AfterValidator(check_line)]


class Heading(Section):
    """The keys above the first section."""

    title: Line = ""
    reference: Line = ""
