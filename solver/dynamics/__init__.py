"""Equations as such: base classes, texts carried out on a grid, reports. `solver.equations` has those of the library."""
