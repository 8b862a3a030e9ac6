"""Equations as such: base classes, texts carried out on a grid, reports; the library's are in `solver.equations`."""
