"""The files that members of a packed ensemble share, held by the first process while a batch of members is run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from solver.cluster import Agreement, is_first, log_to
from solver.config import ConfigError
from solver.io import Pack, PackLock, RunDirectory, TakenError, packs_for, packs_in, remove_leftovers


@contextmanager
def shared_files(ensemble: RunDirectory, numbers: Sequence[int]) -> Iterator[SharedFiles]:
    """The files that these members share; empty if each has files of its own. Collective.

    Args:
        ensemble: directory of the ensemble.
        numbers: numbers of all members that this job carries out, if they share files.

    Raises:
        ConfigError: a shared file is damaged.
    """
    packs: dict[int, Pack] = {}
    with Agreement("packs").together():
        if is_first() and numbers:
            _refuse_damaged(packs_in(ensemble.path))
            packs = packs_for(ensemble.path, numbers)
    yield SharedFiles(packs, bool(numbers))
    with Agreement("packs").together():
        for pack in {pack.folder: pack for pack in packs.values()}.values():
            pack.merge()


class SharedFiles:
    """Gives members their place in shared files.

    Args:
        packs: packs by number of the member; empty for members with files of their own, and in other processes than the
            first.
        shared: True if members share files.
    """

    def __init__(self, packs: Mapping[int, Pack], shared: bool) -> None:
        self._packs, self.shared = packs, shared

    @contextmanager
    def held(self, folders: Mapping[int, RunDirectory]) -> Iterator[dict[int, RunDirectory]]:
        """The directories of members that may write during the context, by number. Collective.

        Args:
            folders: their directories, by number.

        Raises:
            ConfigError: another process writes there.
        """
        with ExitStack() as stack:
            locks: dict[Pack, PackLock] = {}
            with Agreement("packs").together():
                for pack in {self._packs[number]: None for number in folders if number in self._packs}:
                    locks[pack] = _lock(pack, stack)
            held = {number: locks[self._packs[number]] for number in folders if number in self._packs}
            yield {number: replace(folder, held=held.get(number)) for number, folder in folders.items()}


def _refuse_damaged(packs: Sequence[Pack]) -> None:
    """Raises ConfigError if a shared file is not as it was written."""
    for path in (path for pack in packs for path in pack.damaged):
        raise ConfigError(f"{path}: damaged; move it away to continue without its rows")


def _lock(pack: Pack, stack: ExitStack) -> PackLock:
    """Lock a pack and write its log until the stack is closed."""
    remove_leftovers(pack.folder)
    try:
        lock = PackLock(pack, os.environ)
    except TakenError as error:
        raise ConfigError(f"{pack.folder}: {error}; wait for it, or stop it") from None
    stack.callback(lock.release)
    stack.enter_context(log_to(pack.log, runs=pack.names))
    return lock
