"""Members of an ensemble whose outputs other processes of the job carry out: messages between the two groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from solver import assemble
from solver.cli.one_run import write_outputs_of_one
from solver.cluster import Messages, is_first
from solver.io import RunDirectory
from solver.loop import BlowUp
from solver.stop import StopRequest

NAME = "members"  # of the messages


class OutputGroup:
    """The processes that carry out outputs: receives from the processes that step which member comes next.

    Args:
        messages: None where the devices that analyse, if there are any, are of the same process.
    """

    def __init__(self, messages: Messages | None = None) -> None:
        self._messages, self._number = messages, 0

    def begins(self, number: int, attempts: int) -> None:
        """Say that a member begins or continues.

        Args:
            number: number of the member.
            attempts: number of times that the member was drawn again.
        """
        self._leave({"member": number, "attempts": attempts})

    def over(self, finished: bool, blown_up: str = "") -> None:
        """Say that no member is left to be carried out.

        Args:
            finished: True if every member came to its end that did not blow up.
            blown_up: the message about those that did.
        """
        self._leave({"finished": finished, "blown_up": blown_up})

    def _leave(self, message: object) -> None:
        self._number += 1
        if self._messages is not None and is_first():
            self._messages.leave(str(self._number), message)


@contextmanager
def output_group_of(assembly: assemble.Assembly) -> Iterator[OutputGroup]:
    """The processes that write the outputs of an ensemble; a blow-up of members ends their work, too."""
    output_group = OutputGroup(None if assembly.group is None else Messages(NAME))
    try:
        yield output_group
    except BlowUp as error:
        output_group.over(True, str(error))
        raise


def write_outputs_of_members(assembly: assemble.Assembly, directory: RunDirectory, stop: StopRequest) -> bool:
    """Carry out the outputs of the members that other processes step, one after the other. Collective.

    Args:
        assembly: the objects of the first member.
        directory: directory of the ensemble.
        stop: a signal to this process, which is passed on with the next member.

    Returns:
        Whether all members came to their ends.

    Raises:
        BlowUp: after all others, if some blew up.
    """
    config, messages, count = assembly.config, Messages(NAME), 0
    while True:
        count += 1
        message = messages.wait_for(str(count))
        if "member" not in message:
            break
        number = message["member"]
        config = config.drawn_again({number: message["attempts"]})
        member = config.members[number]
        folder = RunDirectory(directory.path / Path(member.directory).name, directory.path)
        member = replace(member, directory=str(folder.path))
        try:
            write_outputs_of_one(replace(assembly, config=member), folder, stop)
        except BlowUp:
            continue  # the others go on
    if message["blown_up"]:
        raise BlowUp(message["blown_up"])
    finished: bool = message["finished"]
    return finished
