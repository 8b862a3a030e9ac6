"""What an equation is and how it is carried out; `solver.equations` has those of the library."""
