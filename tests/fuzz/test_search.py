"""A search with fixed seeds, the same each time: what `make fuzz` does, for about a minute."""

import time

import pytest

from fuzz.search import Search

# seed, trials, number of run files
SEARCHES = [
    (1, ["reference"], 5),
    (2, ["mutations", "resume", "members"], 2),
    (3, ["outputs", "branch", "elsewhere", "numbers", "names", "units", "python"], 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "trials", "count"), SEARCHES)
def test_run_files_of_a_fixed_seed_are_without_fault(seed, trials, count):
    search = Search(time.time() + 600, trials, others=len(trials))
    search.go(seed, shrink=False, count=count)
    assert not search.faults
    assert sum(search.results.values()) >= count
