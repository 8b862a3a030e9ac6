"""The run-time type checker that the tests put on the package: integers serve as floats."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
