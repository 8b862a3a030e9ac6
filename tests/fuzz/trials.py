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
from fuzz.continued import (
    a_branch_goes_on_alike,
    other_devices_round_otherwise,
    outputs_may_change,
    stopped_and_killed,
)
from fuzz.in_python import same_in_python
from fuzz.mutated import mutations_are_refused_in_one_line
from fuzz.rewritten import names_may_be_awkward, parameters_are_numbers, units_do_not_matter

TRIALS = {
    "reference": same_as_the_reference,
    "mutations": mutations_are_refused_in_one_line,
    "resume": continued_with_the_same_bits,
    "members": members_together_are_what_they_are_alone,
    "commands": read_by_every_command,
    "outputs": outputs_may_change,
    "branch": a_branch_goes_on_alike,
    "elsewhere": other_devices_round_otherwise,
    "stopped": stopped_and_killed,
    "numbers": parameters_are_numbers,
    "names": names_may_be_awkward,
    "units": units_do_not_matter,
    "python": same_in_python,
}
# what a trial says of a run file that it has no question about
NOTHING_TO_ASK = ("no parameters", "no text", "one device", "steps vary", "units unknown")
