"""What is asked of a run file that was invented: `TRIALS`, each a function of the table and a folder.

A trial raises `Fault` with one line where the program is wrong, whatever else it may print.
"""

from __future__ import annotations

from fuzz.against_reference import same_as_the_reference
from fuzz.beside_itself import (
    continued_with_the_same_bits,
    members_together_are_what_they_are_alone,
    read_by_every_command,
)
from fuzz.in_python import same_in_python
from fuzz.mutated import mutations_are_refused_in_one_line

TRIALS = {
    "reference": same_as_the_reference,
    "mutations": mutations_are_refused_in_one_line,
    "resume": continued_with_the_same_bits,
    "members": members_together_are_what_they_are_alone,
    "commands": read_by_every_command,
    "python": same_in_python,
}
