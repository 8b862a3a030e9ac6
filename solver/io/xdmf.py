"""XDMF: a text file that tells ParaView how to read a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from solver.grid import Grid
from solver.io.files import write_text

NOTE = (
    "Arrays are stored (x, y, z) with z contiguous, while the first axis of XDMF is the contiguous one: "
    "ParaView's X, Y, Z are the solver's z, y, x, and vectors are ordered to match."
)


def write_xdmf(snapshot: Path, names: Sequence[str], grid: Grid, t: float) -> None:
    """Write `snapshot` with the ending .xdmf beside it; two and three dimensions only.

    Components `name_x`, `name_y`, `name_z` are also joined to a vector `name`.
    """
    if grid.dimensions == 1:
        return
    root = Element("Xdmf", Version="3.0")
    root.append(ElementTree.Comment(NOTE))
    mesh = SubElement(SubElement(root, "Domain"), "Grid", Name="box", GridType="Uniform")
    SubElement(mesh, "Time", Value=repr(float(t)))
    sides = " ".join(map(str, grid.physical_shape))
    SubElement(mesh, "Topology", TopologyType=f"{grid.dimensions}DRectMesh", Dimensions=sides)
    geometry = SubElement(mesh, "Geometry", GeometryType="VXVYVZ" if grid.dimensions == 3 else "VXVY")
    axes = list(zip("xyz", grid.physical_shape, strict=False))
    for axis, n in reversed(axes):
        geometry.append(_item(snapshot.name, axis, str(n), grid))
    for name in names:
        attribute = SubElement(mesh, "Attribute", Name=name, AttributeType="Scalar", Center="Node")
        attribute.append(_item(snapshot.name, name, sides, grid))
    for vector in _vectors(names, grid.dimensions):
        _join(mesh, vector, snapshot.name, sides, grid)
    ElementTree.indent(root)
    write_text(
        snapshot.with_suffix(".xdmf"),
        '<?xml version="1.0"?>\n' + ElementTree.tostring(root, "unicode") + "\n",
    )


def _item(file: str, dataset: str, dimensions: str, grid: Grid) -> Element:
    size = str(grid.dtype.itemsize)
    item = Element("DataItem", Dimensions=dimensions, NumberType="Float", Precision=size, Format="HDF")
    item.text = f"{file}:/{dataset}"
    return item


def _vectors(names: Sequence[str], dimensions: int) -> list[str]:
    stems = [name.removesuffix("_x") for name in names if name.endswith("_x")]
    return [stem for stem in stems if all(f"{stem}_{axis}" in names for axis in "xyz"[:dimensions])]


def _join(mesh: Element, name: str, file: str, sides: str, grid: Grid) -> None:
    axes = "xyz"[: grid.dimensions][::-1]
    parts = ", ".join(f"${i}" for i in range(len(axes)))
    zero = "" if grid.dimensions == 3 else ", 0*$0"
    attribute = SubElement(mesh, "Attribute", Name=name, AttributeType="Vector", Center="Node")
    join = SubElement(
        attribute, "DataItem", ItemType="Function", Function=f"JOIN({parts}{zero})", Dimensions=f"{sides} 3"
    )
    for axis in axes:
        join.append(_item(file, f"{name}_{axis}", sides, grid))
