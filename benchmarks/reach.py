"""Where a run's time goes as devices are added: predictions for GPUs, beside the published timings they were fitted to.

    python benchmarks/reach.py                        prints the tables of benchmarks/reach.md
    python benchmarks/reach.py docs/images/reach.svg  draws the figure, too

Nothing here is measured: `solver/plan/timing.py` computes it from published rates.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from solver.fft.method import FEW_POINTS
from solver.grid import Layout
from solver.plan.rates import PROTOCOL, Rates
from solver.plan.timing import Choice, StepTime, StepWork, better_split, exchange_time, step_time, transform_time

MARKS = tomllib.loads(Path(__file__).with_name("marks.toml").read_text())
FLOAT32 = 4  # bytes
DEVICES = [2**i for i in range(13)]
WEAK = 512**3  # points per device
STRONG = (1024, 2048, 4096, 8192)
NOTABLE = (1, 8, 16, 64, 512, 1024, 4096)  # devices, in the tables


@dataclass(frozen=True)
class Program:
    """What a step of Navier–Stokes with IFRK4 moves, and the real words per point that it holds.

    Words (with the passes around inverse FFTs), kernels, exchanges and the part of the work that is placed beside
    them are those of a step that XLA compiled for eight H200, of waves for sixteen, 512³ in float32, jax 0.10.2.
    """

    name: str
    step: StepWork
    words_held: float


BATCHED = Program("8 exchanges", StepWork(332, 149, 68, transforms=32, exchanges=8, hidden=0.03), 13.2)
SEPARATE = Program("32 exchanges", StepWork(321, 149, 186, transforms=32, exchanges=32, hidden=0.51), 11.1)
WAVES = Program("two waves", StepWork(323, 150, 203, transforms=32, exchanges=16, hidden=0.68), 9.7)
PROGRAMS = (BATCHED, SEPARATE, WAVES)


def by_default(rates: Rates, points: int, devices: int) -> Program:
    """The program that is chosen where a run file does not say."""
    if points <= FEW_POINTS * devices:
        return BATCHED
    return SEPARATE if devices <= rates.gpus_per_host else WAVES


def table(title: str, head: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    print(f"\n## {title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def predicted(mark: dict) -> float:
    """What the model says of an entry of marks.toml [s]."""
    rates = Rates.of(mark.get("target", "a100"), **mark.get("peaks", {}))
    if "members" in mark:
        return exchange_time(rates, mark["size"], mark["members"])
    how = {key: mark[key] for key in ("slabs", "pencils", "passes", "strided") if key in mark}
    return transform_time(rates, tuple(mark["shape"]), mark["itemsize"], **how)


def bound(mark: dict) -> float:
    """Seconds of the exchanges alone of a run of real fields, every device's bytes leaving its host."""
    x, y, z = mark["shape"]
    size = x * y * z * mark["itemsize"] / 2 / mark["hosts"]
    return mark["exchanges"] * size / (PROTOCOL * mark["network_per_host"])


def marks() -> None:
    """Print the published timings and what the model says of them."""
    for group, title in (
        ("transform", "Published timings of transforms"),
        ("exchange", "A published exchange, to which nothing is fitted"),
        ("fitted", "Apart: with a network rate fitted to the first entry"),
    ):
        rows = [
            [mark["name"], ms(mark["seconds"]), ms(predicted(mark)), f"{predicted(mark) / mark['seconds']:.2f}"]
            for mark in MARKS[group]
        ]
        table(title, ["what was timed", "published, ms", "model, ms", "model / published"], rows)
    rows = [[mark["name"], f"< {mark['seconds']:.0f}", f"{bound(mark):.1f}"] for mark in MARKS["bound"]]
    table("Apart: a bound", ["what was timed", "published, s", "its exchanges in the model, s"], rows)


def ms(seconds: float) -> str:
    """Milliseconds to three digits."""
    return f"{1e3 * seconds:.3g}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def cube(points: int) -> Layout:
    """Layout of a float32 run with the two-thirds rule whose sides are as equal as powers of two allow."""
    power = points.bit_length() - 1
    return Layout(tuple(2 ** ((power + i) // 3) for i in (2, 1, 0)))


def fits(layout: Layout, program: Program, rates: Rates, devices: int) -> bool:
    """Whether 90 % of the devices' memory holds what the program holds."""
    points = layout.points[0] * layout.points[1] * layout.points[2]
    return points * FLOAT32 * program.words_held / devices < 0.9 * rates.memory_bytes


def scaling(rates: Rates, program: Program | None, points: int | None) -> Iterator[tuple[int, Choice]]:
    """Number of devices and ways to split, of a run of fixed size, or with WEAK points per device; None: by default."""
    for devices in DEVICES:
        layout = cube(points or WEAK * devices)
        chosen = program or by_default(rates, points or WEAK * devices, devices)
        if fits(layout, chosen, rates, devices) and devices <= layout.max_slabs * layout.max_pencils:
            yield devices, better_split(rates, layout, chosen.step, FLOAT32, devices)


def cell(time: StepTime | None) -> str:
    """Time of a step, the split of pencils, and how much of the time the exchanges add to the work."""
    if time is None:
        return "–"
    how = f" ({time.slabs} × {time.pencils})" if time.pencils > 1 else ""
    return f"{ms(time.total)}{how}, {(time.exchange - time.hidden) / time.total:.0%}"


def scalings(rates: Rates) -> None:
    """Print weak scaling of each program, and strong scaling of what is chosen."""
    each = [dict(scaling(rates, program, None)) for program in PROGRAMS]
    head = ["devices", *(f"{program.name}: {way}" for program in PROGRAMS for way in ("slabs", "pencils"))]
    rows = [
        [str(p), *(cell(time) for choices in each for time in (choices[p].slabs, choices[p].pencils))] for p in NOTABLE
    ]
    table(f"512³ points per device, {rates.name}: ms a step, part of it that the exchanges add", head, rows)
    sizes = [dict(scaling(rates, None, n**3)) for n in STRONG]
    head = ["devices", *(f"{n}³, {way}" for n in STRONG for way in ("slabs", "pencils"))]
    rows = [
        [str(p), *(cell(time) for choices in sizes for time in ways(choices.get(p)))]
        for p in NOTABLE
        if any(p in choices for choices in sizes)
    ]
    table(f"A fixed number of points, {rates.name}, as chosen by default", head, rows)


def ways(choice: Choice | None) -> tuple[StepTime | None, StepTime | None]:
    """Both ways to split, or none where the run does not fit."""
    return (choice.slabs, choice.pencils) if choice else (None, None)


def hosts(targets: tuple[str, ...]) -> None:
    """Print what leaving the host costs, per kind of device: 512³ points per device."""
    rows = []
    for target in targets:
        rates = Rates.of(target)
        inside, outside = (
            step_time(rates, Layout(cube(WEAK * p).shape, slabs=p), by_default(rates, WEAK * p, p).step, FLOAT32)
            for p in (rates.gpus_per_host, 2 * rates.gpus_per_host)
        )
        rows.append([rates.name, str(rates.gpus_per_host), ms(inside.total), ms(outside.total)])
    head = ["device", "per host", "one host, ms", "two hosts, ms"]
    table("One host and two: 512³ points per device, slabs", head, rows)


def figure(path: str) -> None:
    """Draw weak and strong scaling on H200: time per step against devices."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "reach"
    import matplotlib.pyplot as plt

    rates = Rates.of("h200")
    drawing, (weak, strong) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for program, color in zip((SEPARATE, BATCHED, WAVES), ("C0", "C1", "C2"), strict=True):
        draw(weak, list(scaling(rates, program, None)), color, program.name)
    work = [(p, 1e3 * choice.best.work) for p, choice in scaling(rates, SEPARATE, None)]
    weak.plot(*zip(*work, strict=True), "k:", label=f"work alone, {SEPARATE.name}")
    weak.set(ylim=(0, None), title="512³ points per device")
    for color, n in zip(("C0", "C1", "C2", "C3"), STRONG, strict=True):
        draw(strong, list(scaling(rates, None, n**3)), color, f"{n}³ points")
    strong.set(yscale="log", title="A fixed number of points, as chosen by default")
    for axes in (weak, strong):
        axes.set(xscale="log", xlabel="devices (H200, 8 to a host)", ylabel="predicted time of a step [ms]")
        axes.set_xticks(DEVICES[::2], [str(p) for p in DEVICES[::2]], minor=False)
        axes.minorticks_off()
        axes.axvline(8, color="0.7", lw=1, zorder=0)
        axes.text(8.6, 0.015, "network", color="0.45", va="bottom", fontsize=9, transform=axes.get_xaxis_transform())
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8)
    drawing.suptitle("Navier–Stokes, IFRK4, float32: predictions, not measurements. Solid: slabs; dashed: best pencils")
    drawing.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None, dpi=110)


def draw(axes: object, curves: list[tuple[int, Choice]], color: str, label: str) -> None:
    """Time of slabs and of the best pencils."""
    slabs = [(p, 1e3 * c.slabs.total) for p, c in curves if c.slabs]
    pencils = [(p, 1e3 * c.pencils.total) for p, c in curves if c.pencils]
    axes.plot(*zip(*slabs, strict=True), "o-", ms=3.5, color=color, label=label)
    axes.plot(*zip(*pencils, strict=True), "--", color=color, lw=1.2)


if __name__ == "__main__":
    marks()
    scalings(Rates.of("h200"))
    hosts(("a100", "h100", "h200", "b200", "gh200", "mi250x", "mi300x"))
    if len(sys.argv) > 1:
        figure(sys.argv[1])
