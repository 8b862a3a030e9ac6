"""Which cases of slow tests `make test` runs, since it is to end within half an hour; `make thorough` runs them all."""

import zlib
from collections import defaultdict

SHARE = 6  # one of so many


def some_cases(items):
    """The items without those marked `thorough`, and of each slow test of many cases a sixth of them, rounded up.

    Which sixth follows from a checksum of the names: the same on each machine, and no parameter of a product keeps one
    value. Tests of several processes count as slow. Tests marked `every_case` and Slurm's keep all.
    """
    cases = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("thorough"):
            cases[item.nodeid.partition("[")[0] if _may_be_thinned(item) else item.nodeid].append(item)
    return {item for of_one in cases.values() for item in sorted(of_one, key=_checksum)[: -(-len(of_one) // SHARE)]}


def _may_be_thinned(item):
    whole = any(map(item.get_closest_marker, ("every_case", "slurm")))
    return any(map(item.get_closest_marker, ("slow", "multiprocess"))) and not whole


def _checksum(item):
    return zlib.crc32(item.nodeid.encode())
