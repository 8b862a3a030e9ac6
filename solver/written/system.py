"""A system of equations as text, with what its names are: read, and checked as far as that needs no grid."""

from __future__ import annotations

import dataclasses
import keyword
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from solver.written.degrees import degree, is_constant
from solver.written.kinds import GUESSED, RANKS, Kind, kind_of, same_kind
from solver.written.parse import NO_FUNCTIONS, read_expression, read_line
from solver.written.tree import Call, Line, Name, Negative, Node, Number, Place, Power, Sum, WrittenError
from solver.written.vocabulary import CONSTANTS, COORDINATES, WORDS, Word, nearest

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class System:
    """Equations that were read.

    Args:
        fields: rank of each field, by name.
        unknowns: rank of each unknown, which is neither stored nor given a start.
        parameters: rank of each parameter.
        definitions: expression of each defined name, with other definitions written out.
        functions: the user's functions by name.
        lines: the equations, with definitions written out.
        dimensions: numbers of dimensions in space in which all parts fit together.
        guesses: True if nothing is said of the parameters, so that each is taken for a scalar.
        gauges: axes of each unknown along which its mean is zero since nothing determines it, by name.
        means: axis of each field along which its mean is zero, by name.
        walled: names of the unknowns that have conditions at walls of their own.
        without_mean: names of the unknowns whose mean over the box a line says is zero.
    """

    fields: Mapping[str, str]
    unknowns: Mapping[str, str]
    parameters: Mapping[str, str]
    definitions: Mapping[str, Node]
    functions: Mapping[str, Word]
    lines: tuple[Line, ...]
    dimensions: tuple[int, ...]
    guesses: bool = False
    gauges: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    means: Mapping[str, str] = dataclasses.field(default_factory=dict)
    walled: tuple[str, ...] = ()
    without_mean: frozenset[str] = frozenset()

    def why_not_in(self, dimensions: int) -> str:
        """Parts that do not fit together in so many dimensions of space; empty where all fit."""
        misfit = _misfit(self, dimensions)
        return "" if misfit is None else str(misfit[1])

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each field, unknown and parameter, by name."""
        ranks = {**self.fields, **self.unknowns, **self.parameters}
        kinds = {name: Kind.of_rank(rank) for name, rank in ranks.items()}
        return {**kinds, **dict.fromkeys(self.parameters, GUESSED)} if self.guesses else kinds

    @property
    def with_walled_as_fields(self) -> System:
        """The same, in which unknowns with conditions at walls count as fields: they are known before N is."""
        own = {name: self.unknowns[name] for name in self.walled}
        others = {name: rank for name, rank in self.unknowns.items() if name not in own}
        return replace(self, fields={**self.fields, **own}, unknowns=others) if own else self

    @property
    def unknowns_of_constraints(self) -> set[str]:
        """Names of the unknowns in equations without dt, which these give."""
        lines = (line for line in self.lines if not line.left.calls("dt"))
        return {name for line in lines for name in line.left.names | line.right.names if name in self.unknowns}

    @property
    def complex_names(self) -> set[str]:
        """Names of complex kind."""
        return {name for name, kind in self.kinds.items() if kind.is_complex}

    @property
    def is_mixed(self) -> bool:
        """True if some fields are real and some are complex."""
        return len(self.are_complex(self.fields)) > 1

    def are_complex(self, names: Iterable[str]) -> set[bool]:
        """True if the fields among names are complex; both where they are of both kinds, whose modes differ."""
        return {self.kinds[name].is_complex for name in names if name in self.fields}

    def equation_of(self, field: str) -> Line:
        """The line that gives the rate of change of a field."""
        return next(line for line in self.lines if field in _changed(line, self.fields))


def read_system(
    write: Sequence[Any],
    fields: Mapping[str, str],
    unknowns: Mapping[str, str] = NOTHING,
    define: Mapping[str, str] = NOTHING,
    parameters: Mapping[str, str] | None = None,
    functions: Mapping[str, Word] = NO_FUNCTIONS,
    means: Mapping[str, str] = NOTHING,
    at_walls: Sequence[str] = (),
    walled: Sequence[str] = (),
) -> System:
    """Read and check a system.

    Args:
        write: the equations, a line each.
        fields: rank of each field by name, a key of `kinds.RANKS`.
        unknowns: the same of multipliers and diagnostic fields.
        define: definitions of further names.
        parameters: rank of each parameter; None if every name that is nothing else is a scalar parameter.
        functions: the user's functions by name.
        means: axis of each field along which its mean is zero, by name.
        at_walls: right-hand sides of conditions at walls, as text; their names may be parameters, too.
        walled: names of the unknowns that have conditions at walls of their own.

    Raises:
        WrittenError: the first thing that is wrong, with its place in the text.
    """
    _check_names(fields, unknowns, define, parameters or {}, functions)
    named = {name: read_expression(text, functions) for name, text in define.items()}
    read = [read_line(text, functions) for text in write]
    gauges = {name: axes for line in read for name, axes in _gauge_along_axes(line, unknowns).items()}
    without_mean = frozenset(name for line in read for name in _gauge_of_mean(line, unknowns))
    lines, unknowns = without_gauges(read, unknowns, named.values())
    declared = {*fields, *unknowns, *named, *CONSTANTS, *WORDS}
    guesses = parameters is None
    if parameters is None:
        given = [read_expression(text, functions) for text in at_walls]
        parameters = dict.fromkeys(_free_names([*named.values(), *_sides(lines), *given], declared), "scalar")
    for node in [*named.values(), *(side for line in lines for side in (line.right,))]:
        _refuse_rates(node, "on the left of an equation, and not in a definition")
    definitions = _written_out(named)
    lines = [Line(insert(line.left, definitions), insert(line.right, definitions), line.text) for line in lines]
    system = System(
        dict(fields), dict(unknowns), dict(parameters), definitions, dict(functions), tuple(lines), (), guesses, gauges,
        dict(means), tuple(walled), without_mean,
    )  # fmt: skip
    fitting = _dimensions(system)
    _check_rates(system)
    _refuse_varying_powers(system)
    return replace(system, dimensions=fitting)


# ---- gauges -------------------------------------------------------------------------------------------------------


def without_gauges(
    lines: Sequence[Line], unknowns: Mapping[str, str], definitions: Iterable[Node] = ()
) -> tuple[list[Line], dict[str, str]]:
    """Lines without gauges, `integ(p) = 0`, and without the constants that are in constraints to make room for them.

    In a periodic box the mean of an unknown is zero where nothing else is said, so that Dedalus' tau terms, as in
    `div(u) + tau_p = 0`, are zero. Such a constant occurs once in the text, as a term of its own among others.

    Raises:
        WrittenError: an `integ` elsewhere, or one such constant more than there are gauges.
    """
    others = [line for line in lines if not _is_gauge(line, unknowns) and not _gauge_along_axes(line, unknowns)]
    gauges = [line for line in lines if _is_gauge(line, unknowns)]
    for part in (part for side in _sides(others) for part in side.calls("integ")):
        raise part.place.error("integ may be used in the gauge of an unknown alone, integ(p) = 0; mean(f) is a mean")
    if not gauges:
        return others, dict(unknowns)
    gauged = {name.name for line in gauges for name in _names(line.left)}
    stands = Counter(name.name for node in [*_sides(others), *definitions] for name in _names(node))
    terms = {name for line in others if not line.left.calls("dt") for name in _terms_beside_others(line)}
    constants = [name for name in unknowns if name in terms - gauged and stands[name] == 1]
    if len(constants) > len(gauges):
        raise WrittenError(f"{', '.join(constants)}: one gauge is needed for each, such as integ(p) = 0")
    zeros = dict.fromkeys(constants, Number(0))
    lines = [Line(insert(line.left, zeros), insert(line.right, zeros), line.text) for line in others]
    return lines, {name: rank for name, rank in unknowns.items() if name not in constants}


def _terms_beside_others(line: Line) -> set[str]:
    """Names that are terms of a line by themselves; what stands alone on the left is given by the line."""
    left, right = (side.terms if isinstance(side, Sum) else (side,) for side in (line.left, line.right))
    plain = (term.of if isinstance(term, Negative) else term for term in (*(left if len(left) > 1 else ()), *right))
    return {term.name for term in plain if isinstance(term, Name)}


def _is_gauge(line: Line, unknowns: Mapping[str, str]) -> bool:
    return bool(_gauge_of_mean(line, unknowns))


def _gauge_of_mean(line: Line, unknowns: Mapping[str, str]) -> list[str]:
    """The unknown of a line `mean(p) = 0`; nothing of any other line."""
    match line.left, line.right:
        case Call("integ" | "mean", (Name(name),)), Number(value) if name in unknowns and value == 0:
            return [name]
    return []


def _gauge_along_axes(line: Line, unknowns: Mapping[str, str]) -> dict[str, tuple[int, ...]]:
    """The unknown and the axes of a line `mean(w, x) = 0`; nothing of any other line."""
    match line.left, line.right:
        case Call("mean", (Name(name), Name(axis))), Number(value) if name in unknowns and value == 0:
            return {name: (COORDINATES[axis],)} if axis in COORDINATES else {}
    return {}


# ---- names --------------------------------------------------------------------------------------------------------


def _check_names(*groups: Mapping[str, Any]) -> None:
    """Each name once, none that the language has, and ranks that there are."""
    seen: set[str] = set()
    for group, what in zip(groups, ("field", "unknown", "definition", "parameter", "function"), strict=True):
        for name, rank in group.items():
            refuse_no_name(what, name)
            if name in WORDS or name in CONSTANTS:
                raise WrittenError(f"{what} {name!r}: the name has a meaning of its own; another is needed")
            if name in seen:
                raise WrittenError(f"{what} {name!r}: the name means something else already")
            if what not in ("definition", "function") and rank not in RANKS:
                raise WrittenError(f"{what} {name!r} of rank {rank!r}{nearest(rank, RANKS)}")
            seen.add(name)


def refuse_no_name(what: str, name: str) -> None:
    """Refuse what cannot be in a text, or would not be one name in a file."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise WrittenError(f"{what} {name!r}: a name of letters and digits is needed")


def _sides(lines: Iterable[Line]) -> list[Node]:
    return [side for line in lines for side in (line.left, line.right)]


def _free_names(nodes: Iterable[Node], declared: set[str]) -> list[str]:
    """Names that nothing declares, in their order; names of causes are no names of the system."""
    return list(dict.fromkeys(name.name for node in nodes for name in _names(node) if name.name not in declared))


def _names(node: Node) -> list[Name]:
    if isinstance(node, Call) and node.function == "cause":
        return _names(node.arguments[1])
    below = [name for child in node.children for name in _names(child)]
    return [node, *below] if isinstance(node, Name) else below


def _written_out(named: Mapping[str, Node]) -> dict[str, Node]:
    """Definitions without other definitions in them; raises WrittenError where one needs itself."""
    done: dict[str, Node] = {}

    def write_out(name: str, above: tuple[str, ...]) -> Node:
        if name in done:
            return done[name]
        if name in above:
            raise named[name].place.error(f"the definition of {name!r} needs itself: {' → '.join((*above, name))}")
        for inner in _names(named[name]):
            if inner.name in named:
                write_out(inner.name, (*above, name))
        done[name] = insert(named[name], done)
        return done[name]

    for name in named:
        write_out(name, ())
    return {name: done[name] for name in named}


def insert(node: Node, definitions: Mapping[str, Node]) -> Node:
    """The expression with definitions in place of their names; the name of a cause stays."""

    def change(part: Node) -> Node | None:
        match part:
            case Name(name):
                return definitions.get(name)
            case Call("cause", (label, term)):
                return Call("cause", (label, insert(term, definitions)), place=part.place)
        return None

    return node.rewritten(change)


# ---- ranks --------------------------------------------------------------------------------------------------------


def _refuse_varying_powers(system: System) -> None:
    """Refuse exponents with fields, and operators on modes whose second argument is no number for the whole box."""
    varying = {*system.fields, *system.unknowns}
    for side in _sides(system.lines):
        refuse_fields_in_exponents(side, varying)
    for part in (part for side in _sides(system.lines) for part in side.calls("fraclap", "helmholtz")):
        if not is_constant(part.arguments[1], varying):
            raise part.place.error(f"the second argument of {part.function}: a number for the whole box is needed")


def refuse_fields_in_exponents(node: Node, fields: Collection[str]) -> None:
    """Refuse a field as an exponent, in an expression whose definitions are written out."""
    for part in node.walk():
        if isinstance(part, Power) and not part.exponent.names.isdisjoint(fields):
            raise part.exponent.place.error("a field as an exponent: a number or a parameter is needed")


def _dimensions(system: System) -> tuple[int, ...]:
    """The numbers of dimensions in which all fits.

    Raises:
        WrittenError: all fits in none: the error in the dimensions in which the most parts fit, the last of several.
    """
    found = {dimensions: _misfit(system, dimensions) for dimensions in (1, 2, 3)}
    misfits = [misfit for misfit in reversed(found.values()) if misfit is not None]
    if len(misfits) == len(found):
        raise max(misfits, key=lambda misfit: misfit[0])[1]
    return tuple(dimensions for dimensions, misfit in found.items() if misfit is None)


def _misfit(system: System, dimensions: int) -> tuple[int, WrittenError] | None:
    """Number of the first definition or equation that does not fit, and its error; None where all fit."""
    kinds = system.kinds
    parts: list[Node | Line] = [*system.definitions.values(), *system.lines]
    for number, part in enumerate(parts):
        try:
            _check_kinds(part, system, kinds, dimensions)
        except WrittenError as error:
            return number, error
    return None


def _check_kinds(part: Node | Line, system: System, kinds: Mapping[str, Kind], dimensions: int) -> None:
    if isinstance(part, Node):
        kind_of(part, kinds, dimensions, system.functions)
        return
    kind = same_kind(part.left, part.right, kinds, dimensions, system.functions)
    real = [name for name in _changed(part, system.fields) if not kinds[name].is_complex]
    if kind.is_complex and real:
        raise _first_complex(part, kinds, dimensions).error(
            f"complex, in the equation of the real field {real[0]!r}: real(…), or rank 'wavefunction', is needed"
        )


def _first_complex(line: Line, kinds: Mapping[str, Kind], dimensions: int) -> Place:
    """Place of the first complex expression in a line."""
    for side in (line.right, line.left):
        for node in side.walk():
            if isinstance(node, Number) and node.value.imag:
                return node.place
            if isinstance(node, Name) and node.name in kinds and kinds[node.name].is_complex:
                return node.place
    return line.right.place


# ---- rates of change ----------------------------------------------------------------------------------------------


def _refuse_rates(node: Node, where: str) -> None:
    for rate in node.calls("dt"):
        raise rate.place.error(f"dt may be {where}")


def _changed(line: Line, fields: Mapping[str, str]) -> set[str]:
    """The fields whose rates of change a line holds."""
    inside = [name for rate in line.left.calls("dt") for name in _names(rate)]
    return {name.name for name in inside if name.name in fields}


def _check_rates(system: System) -> None:
    """Check that each field has one equation, left-hand sides are linear, and every unknown is used."""
    moving = {*system.fields, *system.unknowns}
    equations: dict[str, Line] = {}
    for line in system.lines:
        _check_left(line, system)
        if degree(line.left, moving) > 1:
            raise line.left.place.error("terms that are not linear belong on the right of an equation")
        changed = sorted(_changed(line, system.fields))
        if len(changed) == 1 and changed[0] in equations:
            raise line.left.place.error(f"a second equation for {changed[0]!r}: each field has one")
        equations |= dict.fromkeys(changed, line)
    for field in system.fields:
        if field not in equations:
            raise WrittenError(f"field {field!r} has no equation: a line with dt({field}) is needed")
    used = {name.name for side in _sides(system.lines) for name in _names(side)}
    for unknown in system.unknowns:
        if unknown not in used:
            raise WrittenError(f"unknown {unknown!r} is in no equation")


def _check_left(line: Line, system: System) -> None:
    """The operand of a dt on the left: fields, no unknowns, and no other dt."""
    for rate in line.left.calls("dt"):
        _refuse_rates(rate.arguments[0], "used once, not within another dt")
        names = _names(rate)
        for name in names:
            if name.name in system.unknowns:
                raise name.place.error(f"dt of the unknown {name.name!r}: only fields have a rate of change")
        if not any(name.name in system.fields for name in names):
            raise rate.place.error("dt of no field: one of the fields is needed")
