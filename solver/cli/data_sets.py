"""An ensemble that makes a data set: members that blow up are drawn again, and its files are made of the others."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from solver import assemble
from solver.cli.member_outputs import OutputGroup
from solver.cli.members import member_directories, members_begun, run_members
from solver.cli.one_run import came_to_its_end
from solver.cluster import LOGGER, Agreement, is_first, log_to
from solver.config import Config, ConfigError, Share, read_toml
from solver.config.ensemble import MOST_AGAIN
from solver.dataset import data_set_of, make_data_set
from solver.dataset.contents import drawn_once_more
from solver.io import DirectoryLock, RunDirectory, TakenError, make_folder, read_lock
from solver.loop import BlowUp
from solver.reading import run_status
from solver.stop import StopRequest

SET_ASIDE = "blown-up"  # folder of members that blew up and were drawn again
MAKING = "data-set"  # folder beside those of the jobs: of the one that makes the data set
NAME = re.compile(r"member-(\d+)-again-(\d+)")


def makes_data_set(config: Config) -> bool:
    """True if an ensemble makes a data set."""
    return bool(config.members) and "well" in config.outputs


def continued_data_set(config: Config, directory: RunDirectory, share: Share | None = None) -> Config:
    """An ensemble as it is in its directory: with the draws of members that blew up and were drawn again.

    Raises:
        ConfigError: a member of the share was begun with other times or fields of its states, or without any.
    """
    if not makes_data_set(config):
        return config
    _refuse_other_states(config, directory, share)
    return _drawn_by_now(config, directory)


def _drawn_by_now(config: Config, directory: RunDirectory) -> Config:
    """The same ensemble with the latest draws of all members, by the folders of those that blew up."""
    matches = [NAME.fullmatch(path.name) for path in (directory.path / SET_ASIDE).glob("member-*")]
    attempts: dict[int, int] = {}
    for match in filter(None, matches):
        attempts[int(match[1])] = max(attempts.get(int(match[1]), 0), int(match[2]))
    return config.drawn_again(attempts) if attempts else config


def _refuse_other_states(config: Config, directory: RunDirectory, share: Share | None) -> None:
    now = config.to_table()["output"]["well"]
    for folder in members_begun(config, directory, share).values():
        before = read_toml(folder.run_file).get("output", {}).get("well")
        for key in ("every_time", "fields"):
            if not before or before.get(key) != now[key]:
                begun = "none" if not before else before.get(key)
                raise ConfigError(
                    f"output.well.{key} = {now[key]}: {folder.path} was begun with {begun}; the same in all members is "
                    "needed, or another output.directory"
                )


def run_members_of_data_set(
    assembly: assemble.Assembly,
    directory: RunDirectory,
    stop: StopRequest,
    lines: Sequence[str],
    output_group: OutputGroup,
    *,
    continues: bool,
    share: Share | None = None,
) -> bool:
    """Carry out all members, draw those again that blew up, and make the data set of the others. Collective.

    Of several jobs each draws its own members again, and the one whose members come to their ends last makes the data
    set of all.

    Args:
        assembly, directory, stop, lines, output_group, continues, share: as in `run_members`.

    Returns:
        Whether all members of the job came to their ends and the data set is complete, or left to another job.

    Raises:
        BlowUp: after the data set was made, if some members blew up as often as they were drawn.
        ConfigError: members whose states make no data set.
    """
    config, held = assembly.config, directory if share is None else RunDirectory(directory.jobs / share.folder)
    while True:
        failure = None
        try:
            if not run_members(
                replace(assembly, config=config), directory, stop, lines, output_group, continues=continues, share=share
            ):
                return False
        except BlowUp as error:
            failure = error
        blown_up = _blown_up(config, directory, share) if failure else []
        with _held(held):
            again = drawn_once_more(config, blown_up)
            if again:
                _set_aside(directory, again)
            elif share is None:
                complete = _make(config, directory, blown_up, stop)
        if not again:
            break
        config, continues = config.drawn_again(again), True
    if share is not None:
        complete = _make_after_all(config, directory, stop)
    if failure is not None:
        raise failure
    return complete


def _make_after_all(config: Config, directory: RunDirectory, stop: StopRequest) -> bool:
    """Make the data set if the members of all jobs are over, and no other job makes it; whether nothing is left to do.

    Every job looks after its own members are over, so that the last one finds all of them over.
    """
    blown_up: list[int] = []
    with ExitStack() as stack:
        makes = ""
        with Agreement("data set").together():
            if is_first():
                config = _drawn_by_now(config, directory)
                over = _over(config, directory)
                if over is None:
                    LOGGER.info("data set: members of other jobs are not over; the last job makes it of all")
                else:
                    makes, blown_up = _take_making(directory, stack), over
        return _make(config, directory, blown_up, stop) if Agreement("data set").tell(makes) else True


def _take_making(directory: RunDirectory, stack: ExitStack) -> str:
    """Hold the folder of the job that makes the data set; an empty text if another job does."""
    folder = RunDirectory(directory.jobs / MAKING)
    make_folder(folder.path)
    try:
        stack.enter_context(_locked(folder))
    except TakenError:
        LOGGER.info("data set: another job makes it")
        return ""
    return "yes"


def _over(config: Config, directory: RunDirectory) -> list[int] | None:
    """Numbers of the members that blew up for good, if all members of all jobs are over; None if some are not."""
    blown_up = []
    for number, folder in enumerate(member_directories(config, directory)):
        try:
            now = run_status(folder)
        except ConfigError:  # it was not begun, or is set aside at this moment
            return None
        if now.status == "blown up":
            blown_up.append(number)
        elif not came_to_its_end(now, config.members[number]):
            return None
    return None if drawn_once_more(config, blown_up) else blown_up


def _make(config: Config, directory: RunDirectory, blown_up: list[int], stop: StopRequest) -> bool:
    """Make the data set on the first process; the others wait."""
    complete = ""
    with Agreement("data set").together():
        if is_first():
            data_set = data_set_of(config, directory.path, tuple(blown_up))
            if make_data_set(data_set, lambda: stop.received is not None):
                complete = "yes"
                LOGGER.info("data set: %d members in %s", len(data_set.trajectories), data_set.folder)
            else:
                LOGGER.info("stopped early by %s while the data set was made", stop.received)
    return bool(Agreement("data set").tell(complete))


def _blown_up(config: Config, directory: RunDirectory, share: Share | None) -> list[int]:
    """Numbers of a job's members that blew up. The first process reads them."""
    numbers: list[int] = []
    if is_first():
        begun = members_begun(config, directory, share)
        numbers = [number for number, folder in begun.items() if run_status(folder).status == "blown up"]
    agreed: list[int] = json.loads(Agreement("data set").tell(json.dumps(numbers)))
    return agreed


def _set_aside(directory: RunDirectory, again: dict[int, int]) -> None:
    """Move members that blew up to a folder of their own, so that they begin anew with other draws."""
    with Agreement("data set").together():
        if not is_first():
            return
        make_folder(directory.path / SET_ASIDE)
        for number, attempt in again.items():
            name = f"member-{number:04d}"
            os.replace(directory.path / name, directory.path / SET_ASIDE / f"{name}-again-{attempt}")
            LOGGER.warning("%s blew up; it is drawn again, %d of at most %d times", name, attempt, MOST_AGAIN)


@contextmanager
def _held(directory: RunDirectory) -> Iterator[None]:
    """Hold the ensemble's directory, or the folder of a job, on the first process, and write to its log. Collective."""
    with ExitStack() as stack:
        with Agreement("data set").together():
            if is_first():
                try:
                    stack.enter_context(_locked(directory))
                except TakenError as error:
                    raise ConfigError(f"{directory.path}: {error}; wait for it, or stop it") from None
        yield


@contextmanager
def _locked(directory: RunDirectory) -> Iterator[None]:
    state = read_lock(directory.path / ".lock").get("state", "finished")
    lock = DirectoryLock(directory.path, os.environ)
    try:
        with log_to(directory.log):
            yield
    finally:
        lock.update_status(state=state)  # that of the members
        lock.release()
