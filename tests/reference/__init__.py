"""A second program: slow, simple, in NumPy and SciPy alone. It reads a run file's table, and says what follows.

Nothing here imports `solver` or JAX (`test_alone.py`). Fields are complex Fourier coefficients of whole boxes; nothing
is planned, split or shared; definitions are those of the documentation. Where the programs differ, one is wrong.

| file | what |
|---|---|
| `box.py` | points, wavenumbers, dealiasing, transforms |
| `values.py` | what an expression is: a number, a linear part, and the rest |
| `text.py` | expressions of a text, node by node |
| `system.py` | a text's equations: L for each mode, N of the fields |
| `library.py` | the library's equations, written a second time |
| `steppers.py` | the steppers, from their tableaus |
| `splitting.py` | Schrödinger equations by operator splitting |
| `forcings.py`, `starts.py`, `bodies.py` | forces, initial fields, bodies and sponges |
| `control.py` | how long steps are, and when something is due |
| `runs.py`, `outputs.py` | a run: its states, and what is recorded of one |
"""
