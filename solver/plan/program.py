"""Reads kernels, bytes, exchanges, memory and overlaps from the text of a compiled GPU program.

The text is XLA's optimised module in the order in which it is run. A kernel is counted as reading each operand and
writing each result once, a bound from above; of an operand that it only takes slices of, as reading these. An FFT makes
one such pass for each axis (`timing.fft_passes`); an inverse one is followed by a pass that scales (openxla/xla,
fft_thunk.cc), and one to real values comes after a pass that copies what it destroys (seen on an H100).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "bf16": 2, "s32": 4, "u32": 4, "f32": 4,
         "s64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16}  # fmt: skip
ARRAY = re.compile(r"\b([a-z]+\d*)\[([\d,]*)\]")
INSTRUCTION = re.compile(r"\s*(?:ROOT )?(%[\w.\-]+) = (.*)")
NOT_KERNELS = frozenset(
    [
        "parameter",
        "get-tuple-element",
        "bitcast",
        "constant",
        "tuple",
        "partition-id",
        "replica-id",
        "after-all",
        "opt-barrier",
        "domain",
    ]
)
# of operations element by element a slice of the result needs the same slice of the operand alone
ELEMENT_BY_ELEMENT = ("bitcast", "convert", "copy", "reshape", "transpose", "real", "imag", "negate", "complex")
COLLECTIVES = ("all-to-all", "all-reduce", "all-gather", "reduce-scatter", "collective-permute", "ragged-all-to-all")


@dataclass(frozen=True)
class Kernel:
    """An operation on the device.

    Args:
        name: name of the operation in the program.
        kind: `fusion`, `fft`, …; of a collective `all-to-all`, …
        read, written: bytes.
        lengths: lengths of an FFT, by axis.
        inverse: an FFT that is followed by a pass that scales.
        real: an FFT of real values, or to real values.
        elements: elements of its largest array.
        waits_for: name of the collective, if the operation waits for one.
        members, stride: devices of a group that exchange, and the distance between their numbers; 0 where the text
            does not list them.
    """

    name: str
    kind: str
    read: int
    written: int
    lengths: tuple[int, ...] = ()
    inverse: bool = False
    real: bool = False
    elements: int = 0
    waits_for: str = ""
    members: int = 0
    stride: int = 1

    @property
    def is_collective(self) -> bool:
        """True if it starts an exchange between devices; the wait for one does not."""
        return self.kind in COLLECTIVES and not self.waits_for

    @property
    def with_inverse(self) -> dict[str, int]:
        """Bytes that each pass after an inverse FFT reads, and writes once more: `scaling`, and `copy`."""
        if not self.inverse:
            return {}
        return {"scaling": self.written, "copy": self.read} if self.real else {"scaling": self.written}


@dataclass(frozen=True)
class Program:
    """A compiled program on one device.

    Args:
        kernels: kernels of one step in order; all kernels of a program without a loop.
        arguments, outputs, scratch, shared: bytes that it is given, that it returns, that it needs beside, and of its
            results that lie where arguments lay.
    """

    kernels: tuple[Kernel, ...]
    arguments: int
    outputs: int
    scratch: int
    shared: int

    @property
    def held(self) -> int:
        """Bytes at its peak: without the workspace of cuFFT and the buffers of NCCL."""
        return self.arguments + self.outputs + self.scratch - self.shared

    @property
    def work(self) -> list[Kernel]:
        """Its kernels that are not collectives."""
        return [k for k in self.kernels if k.kind not in COLLECTIVES]

    @property
    def exchanges(self) -> list[Kernel]:
        """Its all-to-alls."""
        return [k for k in self.kernels if k.is_collective and k.kind == "all-to-all"]

    @property
    def moved(self) -> int:
        """Bytes that kernels read and write, exchanges and `copied_and_scaled` left out; an FFT once for each axis."""
        return sum((k.read + k.written) * max(1, len(k.lengths)) for k in self.work)

    @property
    def copied_and_scaled(self) -> int:
        """Bytes read and written by the passes that come with inverse FFTs, which scale and copy."""
        return sum(2 * sum(k.with_inverse.values()) for k in self.work)

    @property
    def exchanged(self) -> int:
        """Bytes that one device holds ready for all-to-alls, its part to itself included."""
        return sum(k.written for k in self.exchanges)

    @property
    def workspace(self) -> int:
        """An allowance for cuFFT: once more the largest result of an FFT."""
        return max((k.written for k in self.work if k.lengths), default=0)


def read_program(compiled: Any) -> Program:
    """The program of `jax.jit(…).lower(…).compile()`."""
    memory = compiled.memory_analysis()
    return Program(
        kernels=tuple(read_kernels(compiled.as_text())),
        arguments=memory.argument_size_in_bytes,
        outputs=memory.output_size_in_bytes,
        scratch=memory.temp_size_in_bytes,
        shared=memory.alias_size_in_bytes,
    )


def read_kernels(text: str) -> list[Kernel]:
    """Kernels of the body of the program's largest loop, or of a program without loops, in their order."""
    module = _Module(text)
    loops = [body for _, body in module.loops(module.entry)]
    bodies = [list(module.kernels(body)) for body in loops]
    return max(bodies, key=lambda ks: sum(k.read + k.written for k in ks), default=list(module.kernels(module.entry)))


class _Module:
    """The computations of a module's text."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[str]] = {}
        self.entry = ""
        lines: list[str] = []
        for line in text.splitlines():
            head = re.match(r"(ENTRY )?(%[\w.\-]+) \(.*\{\s*$", line)
            if head:
                lines = self.computations[head[2]] = []
                self.entry = head[2] if head[1] else self.entry
            elif line.strip() != "}":
                lines.append(line)

    def loops(self, name: str) -> Iterator[tuple[str, str]]:
        """Instruction and body of each loop of a computation, and of the loops within."""
        for instruction in self._instructions(name):
            if instruction.op == "while":
                body = instruction.called("body")
                yield instruction.name, body
            elif instruction.op in ("call", "conditional"):
                for called in instruction.all_called():
                    yield from self.loops(called)

    def kernels(self, name: str) -> Iterator[Kernel]:
        """Kernels of a computation: of a loop as often as it turns, of a choice its cheapest branch."""
        shapes: dict[str, str] = {}
        for instruction in self._instructions(name):
            shapes[instruction.name] = instruction.shape
            if instruction.op == "while":
                times = re.search(r"known_trip_count[^\d]*(\d+)", instruction.rest)
                yield from list(self.kernels(instruction.called("body"))) * (int(times[1]) if times else 1)
            elif instruction.op == "conditional":
                branches = [list(self.kernels(called)) for called in instruction.all_called()]
                yield from min(branches, key=lambda ks: sum(k.read + k.written for k in ks), default=[])
            elif instruction.op == "call":
                for called in instruction.all_called():
                    yield from self.kernels(called)
            elif instruction.op not in NOT_KERNELS:
                yield self._kernel(instruction, shapes)

    def _kernel(self, instruction: _Instruction, shapes: dict[str, str]) -> Kernel:
        given = [shapes.get(operand, "") for operand in instruction.operands]
        kind, rest = instruction.op.removesuffix("-start").removesuffix("-done"), instruction.rest
        if kind == "async":
            kind, rest = self._wrapped(instruction)
        if instruction.op.endswith("-done"):
            return Kernel(instruction.name, kind, 0, 0, waits_for=instruction.operands[0])
        read, written = sum(map(_bytes, given)), _bytes(instruction.shape)
        if instruction.op == "fusion":
            inner = list(self._instructions(instruction.called("calls")))
            read = sum(_read(inner, i, _bytes(shape)) for i, shape in enumerate(given))
        if instruction.op.endswith("-start"):
            written = read  # its result names the operand, too
        length = re.search(r"fft_length=\{([\d,]+)\}", instruction.rest)
        lengths = tuple(int(n) for n in length[1].split(",")) if length else ()
        inverse = "fft_type=IFFT" in instruction.rest or "fft_type=IRFFT" in instruction.rest
        elements = max((_elements(shape) for shape in (*given, instruction.shape)), default=0)
        members, stride = group_of(rest)
        real = bool(lengths) and bool(re.search("fft_type=I?RFFT", instruction.rest))
        return Kernel(
            instruction.name, kind, read, written, lengths, bool(lengths) and inverse, real, elements,
            members=members, stride=stride,
        )  # fmt: skip

    def _wrapped(self, instruction: _Instruction) -> tuple[str, str]:
        """The operation inside an asynchronous operation, and its attributes; a wait has the name of its start."""
        called = instruction.all_called()
        if not called:
            return next((kind for kind in COLLECTIVES if kind in instruction.operands[0]), "async"), ""
        inner = list(self._instructions(called[0]))
        wrapped = next((each for each in inner if each.op in COLLECTIVES), inner[-1])
        return wrapped.op, wrapped.rest

    def _instructions(self, name: str) -> Iterator[_Instruction]:
        for line in self.computations.get(name, ()):
            match = INSTRUCTION.match(line)
            if match:
                yield _Instruction.parse(match[1], re.sub(r"/\*.*?\*/", "", match[2]))


@dataclass(frozen=True)
class _Instruction:
    name: str
    shape: str
    op: str
    operands: tuple[str, ...]
    rest: str
    number: int = -1

    @classmethod
    def parse(cls, name: str, text: str) -> _Instruction:
        end = _closing(text, 0) + 1 if text.startswith("(") else text.index(" ")
        shape, text = text[:end], text[end:].lstrip()
        at = text.index("(")
        close = _closing(text, at)
        op, given = text[:at], text[at + 1 : close]
        number = int(given) if op == "parameter" else -1
        return cls(name, shape, op, tuple(re.findall(r"%[\w.\-]+", given)), text[close + 1 :], number)

    def called(self, role: str) -> str:
        match = re.search(rf"\b{role}=(%[\w.\-]+)", self.rest)
        assert match is not None, f"{self.name}: no {role}"
        return match[1]

    def all_called(self) -> list[str]:
        named = r"(?:to_apply|calls|true_computation|false_computation)=(%[\w.\-]+)"
        listed = re.search(r"branch_computations=\{([^}]*)\}", self.rest)
        return re.findall(named, self.rest) + (re.findall(r"%[\w.\-]+", listed[1]) if listed else [])


def _read(fusion: Sequence[_Instruction], i: int, size: int) -> int:
    """Bytes that a fused kernel of these instructions reads of its operand i, which has `size` bytes."""
    names = {instruction.name for instruction in fusion if instruction.op == "parameter" and instruction.number == i}
    sliced = 0
    for instruction in fusion:
        if instruction.op in ELEMENT_BY_ELEMENT and names.issuperset(instruction.operands):
            names.add(instruction.name)
        elif instruction.op in ("slice", "dynamic-slice", "gather") and instruction.operands[0] in names:
            sliced += _bytes(instruction.shape)
        elif names & set(instruction.operands):
            return size
    return min(sliced, size) if sliced else size


def _closing(text: str, at: int) -> int:
    """Position of the bracket that closes the bracket at `at`."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"no closing bracket: {text[:80]}")


def _bytes(shape: str) -> int:
    return sum(SIZES.get(kind, 0) * math.prod(sides) for kind, sides in _arrays(shape))


def _elements(shape: str) -> int:
    return max((math.prod(sides) for _, sides in _arrays(shape)), default=0)


def _arrays(shape: str) -> list[tuple[str, Sequence[int]]]:
    return [(kind, [int(n) for n in sides.split(",") if n]) for kind, sides in ARRAY.findall(shape)]


def group_of(text: str) -> tuple[int, int]:
    """Size of a collective's first group and the distance of its members; size 0 if all devices are one group.

    XLA writes groups as lists `{{0,2},{1,3}}`, as numbers that are reshaped and transposed, `[2,2]<=[2,2]T(1,0)`, and
    from jaxlib 0.12 on as axes of a mesh, `mesh['a'=2,'b'=2] {'a'}`.

    Raises:
        ValueError: the text has another form.
    """
    match = re.search(r"replica_groups=(\{\{.*?\}\}|\{\}|\[[^ ]*|mesh\[.*?\] \{.*?\})", text)
    if match is None and "replica_groups=" in text:
        raise ValueError(
            f"groups of a collective in a form that is not known: {text[text.index('replica_groups=') :][:60]}"
        )
    groups = "{}" if match is None else match[1]
    if groups == "{}":
        return 0, 1
    if groups.startswith("{"):
        members = [int(n) for n in groups[2:].partition("}")[0].split(",")]
    elif groups.startswith("mesh"):
        members = _along_axes(groups)
    else:
        shape, dims, _, order = re.findall(r"\[([\d,]+)\]<=\[([\d,]+)\](T\(([\d,]+)\))?", groups)[0]
        sides = [int(n) for n in dims.split(",")]
        axes = [int(n) for n in order.split(",")] if order else range(len(sides))
        numbers = np.arange(math.prod(sides)).reshape(sides).transpose(axes).reshape([int(n) for n in shape.split(",")])
        members = numbers[0].ravel().tolist()
    return len(members), members[1] - members[0] if len(members) > 1 else 1


def _along_axes(groups: str) -> list[int]:
    """First group of `mesh['a'=2,'b'=4] {'b'}`: the devices along these axes."""
    mesh, _, along = groups.partition("] ")
    sides = {name: int(size) for name, size in re.findall(r"'([^']+)'=(\d+)", mesh)}
    names = re.findall(r"'([^']+)'", along)
    numbers = np.arange(math.prod(sides.values())).reshape(list(sides.values()))
    kept = [name for name in sides if name not in names]
    order = [list(sides).index(name) for name in (*kept, *names)]
    return numbers.transpose(order).reshape(-1, math.prod(sides[name] for name in names))[0].tolist()
