"""An equation as its author writes it, and what is derived from it for a number of dimensions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from solver.written.agreement import is_conserved, refuse_broken_constraints
from solver.written.arranged import Row
from solver.written.canonical import canonical, canonical_table
from solver.written.columns import Column, Part, column_of, sizes_of, values_of
from solver.written.elimination import Reduced, reduced
from solver.written.energies import Energy, Square, causes_of, energy, quadratic_form, scalar_of, vector_of
from solver.written.formula import unicode
from solver.written.kinds import SCALAR, VECTOR, kind_of
from solver.written.matrices import Linear, linear_operator, without_divergence
from solver.written.obstacles import (
    WORD,
    Conditions,
    bare,
    called,
    functions_of,
    scalars,
    with_penalties,
    without_penalties,
)
from solver.written.optional import lines_without, table_without, without
from solver.written.parse import read_expression, read_line
from solver.written.plan import Plan, plan_as_written
from solver.written.rates import Rate, Unseen, rate
from solver.written.search import cheapest_plan
from solver.written.stored import keep_to, kept, text_to_keep
from solver.written.system import System, insert, read_system
from solver.written.tree import Call, Contraction, Entry, Line, Name, Node, Number, Power, Slot, WrittenError
from solver.written.units import units
from solver.written.values import apart, is_mixed, refuse_coupling
from solver.written.vocabulary import EXTREMES, Word, nearest

PLANS: dict[str, Callable[[Reduced], Plan[Row]]] = {
    "fewest transforms": lambda less: kept(less, cheapest_plan),
    "as written": lambda less: plan_as_written(less.rest, less.system.fields, apart(less.system)),
}


MOST_ARGUMENTS = 16  # of a function that takes any number
TABLES = (
    "fields", "unknowns", "define", "parameters", "units", "means", "components", "functions", "energies", "series",
    "invariants", "vectors", "symbols", "limits",
)  # fmt: skip

LIMITS = (">= 0", "> 0", ">= 1")


@dataclass(frozen=True)
class Text:
    """A system of equations as text.

    Args:
        write: the equations, one `=` in each.
        fields: rank of each field by name: this and the other tables as mappings, or as pairs.
        unknowns: rank of what is neither stored nor given a start.
        define: what further names stand for.
        parameters: rank of each parameter; None if every name that is nothing else is a scalar parameter.
        units: of each field, as far as they are known, and of columns whose units do not follow from those.
        means: of the fields whose mean is 0 and stays so.
        components: names of the components of fields, by field; made from the field's name where none are given.
        functions: of the user's, by name: each of numbers at a point, with one number there.
        energies: what is quadratic in the fields and has a budget, as the text of its density by name; ½|u|² of each
            field if None.
        series: further columns of the series, by name: texts whose means over the box are reported, or what is made
            of `mean(f)`, `max(f)`, `min(f)` and columns before them.
        invariants: what is quadratic in the fields and moves between scales, as energies; those if None.
        vectors: further vectors that diagnostics are asked for, as the velocity of a stream function: texts by name.
        spectra: columns that are quadratic in the fields, whose spectra are of interest beside those of energies and
            invariants.
        conserved: columns without whose drift since the start the series is not complete; or densities by name, of
            what need not be a column.
        rate: what the CFL number is the largest of over the box [1/time], where the text does not tell it.
        limits: of parameters, by name: `>= 0`, `> 0` or `>= 1`.
        symbols: how names are printed, as `u` for `velocity`.
        plan: how the transforms are found, a key of `PLANS`. The fewest need other forms of products of two, so that
            aliasing differs; they are looked for where the dealiasing rule leaves such products free of it, or
            `aliased` says that they are wanted all the same.
        aliased: whether other forms are wanted on every grid.

    Raises:
        WrittenError: of what stands beside the equations; they themselves are read when they are asked for.
    """

    write: Sequence[str]
    fields: Any
    unknowns: Any = ()
    define: Any = ()
    parameters: Any = None
    units: Any = ()
    means: Any = ()
    components: Any = ()
    functions: Any = ()
    energies: Any = None
    series: Any = ()
    invariants: Any = None
    vectors: Any = ()
    spectra: Sequence[str] = ()
    conserved: Any = ()
    rate: str = ""
    limits: Any = ()
    symbols: Any = ()
    plan: str = "fewest transforms"
    aliased: bool = False

    def __post_init__(self) -> None:
        lines = [self.write] if isinstance(self.write, str) else self.write
        object.__setattr__(self, "write", tuple(lines))
        for name in TABLES:
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else tuple(dict(given).items()))
        object.__setattr__(self, "components", tuple((name, tuple(names)) for name, names in self.components))
        known = [name for name, _ in self.fields]
        for name, _ in [*self.means, *self.components]:
            if name not in known:
                raise WrittenError(f"means and components of {name!r}{nearest(name, known)}")
        known += [name for name, _ in [*(self.energies or ()), *self.series, *(self.invariants or ())]]
        for name, _ in self.units:
            if name not in known:
                raise WrittenError(f"units of {name!r}{nearest(name, known)}")
        for name, value in self.means:
            if not isinstance(value, str) and value != 0:
                raise WrittenError(f"means: {value} of {name!r}, where 0 is needed; a constant may stand in the text")
        listed = self.conserved.items() if isinstance(self.conserved, Mapping) else self.conserved
        object.__setattr__(self, "conserved", tuple((one, one) if isinstance(one, str) else one for one in listed))
        object.__setattr__(self, "spectra", tuple(self.spectra))
        self._check_beside()
        if self.plan not in PLANS:
            raise WrittenError(f"plan {self.plan!r}: {', '.join(map(repr, PLANS))} are known")

    def _check_beside(self) -> None:
        """Refuse what is conserved or has a spectrum and is no column, and limits that are none."""
        columns = [name for name, _ in [*(self.energies or ()), *self.series]]
        of_columns = {"conserved": [name for name, text in self.conserved if name == text], "spectra": self.spectra}
        for table, names in of_columns.items():
            for name in names:
                if self.energies is not None and name not in columns:
                    raise WrittenError(f"{table} of {name!r}{nearest(name, columns)}")
        for name, limit in self.limits:
            if limit not in LIMITS:
                raise WrittenError(f"limits of {name!r}: {limit!r}; one of {', '.join(map(repr, LIMITS))} is needed")

    @cached_property
    def system(self) -> System:
        """The system, read and checked."""
        if self.without_obstacles is not self:
            return self.without_obstacles.system
        parameters = None if self.parameters is None else dict(self.parameters)
        return read_system(
            self.write, dict(self.fields), dict(self.unknowns), dict(self.define), parameters, self.words
        )

    @property
    def penalised(self) -> str:
        """The velocity that `penalise` is called of, as text; empty where it is called of none."""
        return _penalised(self)

    @property
    def without_obstacles(self) -> Text:
        """The text without the terms of bodies and sponges."""
        return _without_obstacles(self) if self.takes_bodies else self

    @property
    def takes_bodies(self) -> bool:
        """Whether it says `penalise` of a velocity or a scalar."""
        return any(WORD in line for line in self.write)

    @property
    def scalars_at_bodies(self) -> dict[str, Node]:
        """The diffusivities of the scalars of which each body says what it does to them, by name."""
        lines = (read_line(line, self.words) for line in self.write if WORD in line)
        return {canonical(scalar): diffusivity for line in lines for scalar, diffusivity in scalars(line)}

    def with_obstacles(self, dimensions: int, *, move: bool, conditions: Conditions) -> Text:
        """The text with bodies and sponges, as functions at the points (`solver.written.obstacles`).

        Args:
            dimensions: of space.
            move: whether some draw the velocity towards another one than zero.
            conditions: scalar, and `fixed` or `sealed`, of what bodies do to scalars.
        """
        return _with_obstacles(self, dimensions, move, conditions)

    @cached_property
    def words(self) -> dict[str, Word]:
        """The user's functions as words of the language."""
        return {name: _word(name, function) for name, function in self.functions}

    @property
    def table(self) -> dict[str, Any]:
        """What decides its physics, with keys as in a run file; texts are printed in one way."""
        names = ("fields", "unknowns", "define", "means")
        tables = {name: dict(getattr(self, name)) for name in names if getattr(self, name)}
        functions = {name: f"{function.__module__}:{function.__qualname__}" for name, function in self.functions}
        named = {"functions": functions} if functions else {}
        return canonical_table({"write": list(self.write), **tables, **named})

    def formula(self, written: Callable[[Node | Line], str] = unicode) -> str:
        """The equations as people write them, and below them what the defined names in them stand for."""
        lines = [read_line(text, self.words) for text in self.without_obstacles.write]
        defined = {name: read_expression(text, self.words) for name, text in self.define}
        used = _used([side for line in lines for side in (line.left, line.right)], defined)
        definitions = [
            f"{written(self.shown(Name(name)))} = {written(self.shown(node))}"
            for name, node in defined.items()
            if name in used
        ]
        return "\n".join(
            [*(written(Line(self.shown(line.left), self.shown(line.right), line.text)) for line in lines), *definitions]
        )

    def shown(self, node: Node) -> Node:
        """An expression with its names as they are printed, and |v|² for v·v of a vector."""
        printed = dict(self.symbols)
        if isinstance(node, Name):
            return Name(printed.get(node.name, node.name))
        if isinstance(node, Entry):
            return Entry(printed.get(node.name, node.name), node.index)
        if isinstance(node, Contraction) and node.left == node.right and self._is_vector(node.left):
            return Power(Call("abs", (self.shown(node.left),)), Number(2))
        return node.map_children(self.shown)

    def _is_vector(self, node: Node) -> bool:
        system = self.system
        whole = insert(node, system.definitions)
        return kind_of(whole, system.kinds, system.dimensions[-1], system.functions) == VECTOR

    @property
    def names(self) -> set[str]:
        lines = [side for line in self.system.lines for side in (line.left, line.right)]
        nodes = [*lines, *self.system.definitions.values()]
        return set().union(*(node.names for node in nodes))

    def units_of(self, field: str) -> str:
        """Units of a field, `1` where none are given."""
        return dict(self.units).get(field, "1")

    def derived_units(self, of_fields: Mapping[str, str]) -> dict[str, str]:
        """Units of parameters, unknowns, energies, columns and invariants, as far as those of the fields tell them."""
        return dict(_derived_units(self, tuple(of_fields.items())))

    def without(self, names: frozenset[str]) -> Text:
        """The text without the terms that hold these parameters, and without columns of which nothing is left."""
        return _without(self, names) if names else self

    def in_dimensions(self, dimensions: int, aliases: bool = False) -> Worked:
        """What is derived from the text for so many dimensions of space.

        Args:
            dimensions: of space.
            aliases: whether products of two are aliased on the grid.
        """
        if self.without_obstacles is not self:
            return self.without_obstacles.in_dimensions(dimensions, aliases)
        as_asked = (self.aliased or not aliases) and not self.is_mixed
        return _worked(self, dimensions, self.plan if as_asked else "as written")

    @property
    def is_mixed(self) -> bool:
        """Whether some of its fields are real and some are complex; their transforms are those of the text."""
        return is_mixed(self.system)


@dataclass(frozen=True)
class Worked:
    """What follows from a text.

    Args:
        less: the system without its unknowns.
        linear: L in its plainest form.
        plan: how N is evaluated.
        changes: N of each scalar of the fields, in the products of the plan.
        rate: what a CFL number needs.
        energies: quadratic forms and what changes them, by name.
        columns: further columns of the series.
        invariants: quadratic forms that move between scales, by name.
        spectra: quadratic forms whose spectra are of interest, by name.
        vectors: components of further vectors, by name.
        conserved: what is conserved, as columns of the series are made.
        sizes: of conserved quantities that may cancel to zero, by name; see `sizes_of`.
    """

    less: Reduced
    linear: Linear
    plan: Plan[Row]
    changes: Mapping[Node, Node]
    rate: Rate | Unseen
    energies: Mapping[str, Energy]
    columns: Mapping[str, Column]
    invariants: Mapping[str, tuple[Square, ...]]
    spectra: Mapping[str, tuple[Square, ...]]
    vectors: Mapping[str, tuple[Node, ...]]
    conserved: Mapping[str, Column]
    sizes: Mapping[str, tuple[Part, ...]]

    @property
    def plan_to_keep(self) -> str:
        """The plan as a text that a run keeps; empty for one that the library keeps itself."""
        return text_to_keep(self.less)


def keep_plan(text: str) -> None:
    """Use a plan that a run keeps from now on, whatever was found here.

    Raises:
        WrittenError: a text that is no plan.
    """
    if keep_to(text):
        _worked.cache_clear()


@cache
def _penalised(text: Text) -> str:
    read = [read_line(line, text.words) for line in text.write if WORD in line]
    found = {node for line in read for node in called(line)}
    if len(found) > 1:
        raise min(found, key=repr).place.error("bodies act on one velocity: penalise is called of another one, too")
    return canonical(found.pop()) if found else ""


@cache
def _without_obstacles(text: Text) -> Text:
    plain, _ = _without_word(text), _penalised(text)  # which refuses two velocities
    for line in (read_line(line, text.words) for line in text.write):
        for scalar, diffusivity in scalars(line):
            if dict(text.fields).get(canonical(scalar)) != "scalar":
                raise scalar.place.error("penalise of two things: a scalar field is needed first, and its diffusivity")
            if alone := sorted(diffusivity.names - plain.system.parameters.keys() - {"pi"}):
                raise diffusivity.place.error(
                    f"{alone[0]} in the diffusivity of a scalar at bodies: a number is needed, or a parameter that "
                    "stands elsewhere, too"
                )
    return plain


def _without_word(text: Text) -> Text:
    return replace(text, write=[canonical(without_penalties(read_line(line, text.words))) for line in text.write])


@cache
def _with_obstacles(text: Text, dimensions: int, move: bool, conditions: Conditions) -> Text:
    lines = [with_penalties(read_line(line, text.words), dimensions, move, conditions) for line in text.write]
    plain = text.without_obstacles  # whose columns may make sense in fewer dimensions than these functions do
    return replace(
        text,
        write=list(map(canonical, lines)),
        functions={**dict(text.functions), **functions_of(conditions)},
        series=_fitting(plain, text.series, dimensions),
        invariants=None if text.invariants is None else _fitting(plain, text.invariants, dimensions),
    )


@cache
def without_unknowns(text: Text, dimensions: int) -> Reduced:
    """A text's system without its unknowns."""
    return reduced(text.system, dimensions)


@cache
def _worked(text: Text, dimensions: int, plan_name: str) -> Worked:
    less = without_unknowns(text, dimensions)
    for name, _ in text.limits:
        if name not in less.system.parameters:
            raise WrittenError(f"limits of {name!r}{nearest(name, less.system.parameters)}")
    without_divergence(less)  # refuses constraints that it does not know
    refuse_broken_constraints(less)
    plan = PLANS[plan_name](less)
    changes = less.changes(plan.rows)
    densities = dict(default_energies(text.system, dimensions) if text.energies is None else text.energies)
    linear, causes = linear_operator(less), causes_of(less)
    if text.is_mixed:
        refuse_coupling(linear, less)
    forms = {name: quadratic_form(density, less) for name, density in densities.items()}
    columns: dict[str, Column] = {}
    series = _fitting(text, text.series, dimensions)
    for name, column in series.items():
        columns[name] = column_of(column, less, {*densities, *columns})
    of_columns = {**densities, **series}
    conserved: dict[str, str] = dict(text.conserved)
    sizes = {name: sizes_of(of_columns.get(name, own), less, of_columns) for name, own in conserved.items()}
    invariants = forms
    if text.invariants is not None:
        fitting = _fitting(text, text.invariants, dimensions)
        invariants = {name: quadratic_form(density, less) for name, density in fitting.items()}
    return Worked(
        less=less,
        linear=linear,
        plan=plan,
        changes=changes,
        rate=_given_rate(text.rate, less, plan) if text.rate else rate(less, _without_bodies(plan), changes),
        energies={
            name: energy(form, less, causes, bool(plan.products) and (text.is_mixed or not is_conserved(form, less)))
            for name, form in forms.items()
        },
        columns=columns,
        invariants=invariants,
        spectra={**forms, **{name: quadratic_form(of_columns[name], less) for name in text.spectra}, **invariants},
        vectors={name: vector_of(vector, less) for name, vector in text.vectors},
        conserved={name: column_of(own, less, {*densities, *columns}) for name, own in conserved.items()},
        sizes={name: parts for name, parts in sizes.items() if parts},
    )


def _without_bodies(plan: Plan[Row]) -> Plan[Row]:
    """A plan whose products hold no bodies, which add to the rate by themselves."""
    return replace(plan, products=tuple(map(bare, plan.products)))


def _fitting(text: Text, table: Sequence[tuple[str, str]], dimensions: int) -> dict[str, str]:
    """Columns that make sense in so many dimensions; one that makes sense in none stays, and is refused for what it is.

    So a helicity stands beside an enstrophy, which is a scalar in two dimensions alone.
    """
    system, names = text.system, {name: SCALAR for name, _ in [*(text.energies or ()), *text.series]}

    def fits(own: str, d: int) -> bool:
        node = insert(read_expression(own, text.words), system.definitions)
        try:
            return kind_of(_without_extremes(node), {**names, **system.kinds}, d, system.functions).order == 0
        except WrittenError:
            return False

    others = [d for d in system.dimensions if d != dimensions]
    left_out = lambda own: not fits(own, dimensions) and any(fits(own, d) for d in others)  # noqa: E731
    return {name: own for name, own in table if not left_out(own)}


def _without_extremes(node: Node) -> Node:
    """An expression with what `max(f)` and `min(f)` are taken of in their place."""
    if isinstance(node, Call) and node.function in EXTREMES and len(node.arguments) == 1:
        return _without_extremes(node.arguments[0])
    return node.map_children(_without_extremes)


def _given_rate(text: str, less: Reduced, plan: Plan[Any]) -> Rate:
    """The rate that stands beside the equations, in inner fields of the plan."""
    values, place = values_of(scalar_of(text, less), less), read_expression(text, less.system.functions).place
    if len(plan.levels()) > 1:
        raise place.error("a rate beside products that stand inside an operator inside a product: such texts have none")
    missing = [node for node in values.inner if node not in plan.inner]
    if missing:
        raise place.error(f"{unicode(missing[0])} in the rate, which the right-hand side does not take to the points")
    inner = {Slot("inner", i): Slot("inner", plan.inner.index(node)) for i, node in enumerate(values.inner)}
    return Rate(None, values.node.rewritten(lambda part: inner.get(part) if isinstance(part, Slot) else None), {})


@cache
def _without(text: Text, names: frozenset[str]) -> Text:
    changed: dict[str, Any] = {}
    for table in ("define", "energies", "series", "invariants", "vectors", "conserved"):
        given = getattr(text, table)
        read = {name: read_expression(own, text.words) for name, own in given or ()}
        kept, names = table_without(read, names)
        changed[table] = None if given is None else {name: canonical(node) for name, node in kept.items()}
    lines = lines_without((read_line(line, text.words) for line in text.write), names)
    rate_left = without(read_expression(text.rate, text.words), names) if text.rate else None
    return replace(
        text,
        write=[canonical(line) for line in lines],
        **changed,
        parameters=None if text.parameters is None else [pair for pair in text.parameters if pair[0] not in names],
        limits=[pair for pair in text.limits if pair[0] not in names],
        units=[pair for pair in text.units if pair[0] not in names],
        spectra=[name for name in text.spectra if name not in names],
        rate="" if rate_left is None else canonical(rate_left),
    )


@cache
def _derived_units(text: Text, of_fields: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    system = text.system
    densities = [*(text.energies or ()), *text.series, *(text.invariants or ())]
    columns = {name: insert(read_expression(own, text.words), system.definitions) for name, own in densities}
    given = {name: unit for name, unit in text.units if name not in system.fields}
    derived = units(system.lines, dict(of_fields), [*system.parameters, *system.unknowns], columns)
    return {**derived, **given}


def _used(nodes: Sequence[Node], defined: Mapping[str, Node]) -> set[str]:
    """The defined names that stand in some expressions, or in what these names stand for."""
    names = set().union(*(node.names for node in nodes)) & defined.keys()
    return names | (_used([defined[name] for name in names], defined) if names else set())


def _word(name: str, function: Any) -> Word:
    """A function of the user's as a word of the language, with the numbers of arguments that it takes."""
    if not callable(function):
        raise WrittenError(f"function {name!r}: {type(function).__name__}, where a function of numbers is needed")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of functions that are not written in Python
        return Word(f"{name}(…)", 1, MOST_ARGUMENTS)
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in by_place)
    most = MOST_ARGUMENTS if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(by_place)
    return Word(f"{name}({', '.join(p.name for p in by_place)})", max(least, 1), most)


def default_energies(system: System, dimensions: int) -> list[tuple[str, str]]:
    """½|u|² of each field, by the names that columns of series have for it."""
    rows = " + ".join(f"{{0}}.{axis}@{{0}}.{axis}" for axis in "xyz"[:dimensions])
    density = {"scalar": "{0}*{0}/2", "vector": "{0}@{0}/2", "wavefunction": "abs({0})**2/2"}
    return [
        ("energy" if len(system.fields) == 1 else f"{name}_energy", density.get(rank, f"({rows})/2").format(name))
        for name, rank in system.fields.items()
    ]
