"""States that the processes of one group of devices send to the processes of another group."""

from __future__ import annotations

from functools import cache

import jax
from jax.sharding import Mesh

from solver.cluster import Messages, name_of_devices, processes_of
from solver.dynamics.any_equation import AnyEquation
from solver.io.state_transfer import fetch_state, offer_state
from solver.steppers.checks import check_state
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

MAX_BEHIND = 2  # states that are sent and not yet received; those who send keep them
KEPT_MESSAGES = 16


class _Way:
    """Way from one group of devices to another, with the number of states sent, as each process counts them."""

    def __init__(self, sender: Mesh, receiver: Mesh) -> None:
        self.name = f"states from {name_of_devices(sender)} to {name_of_devices(receiver)}"
        self.messages, self.number = Messages(self.name), 0
        self.senders, self.receivers = processes_of(sender), processes_of(receiver)

    def next(self) -> str:
        """The name of the transfer that comes now."""
        self.number += 1
        return f"{self.name} {self.number}"


_way = cache(_Way)


def send_state(state: State, equation: AnyEquation, mesh: Mesh) -> None:
    """Send a state to a group of devices of other processes, where `receive_state` returns it.

    Every process with devices of the equation's grid calls it, the same number of times as the others call
    `receive_state`. Within one process `hand_over` does both.

    Args:
        state: state from `initial_state`, `evolve`, `integrate` or `load_checkpoint`, on the devices of the equation's
            grid. It may be stepped with `donate=True` at once.
        equation: equation of the state.
        mesh: mesh of the other group, from `device_groups`.

    Communication: each piece goes from one device to one other, when the other process requests it; no program takes
    part. Waits for the state's numbers, and where two states sent before have not been received.

    Raises:
        ValueError: a state of another grid or one made by hand, or a mesh with devices of this process.
        LaunchError: this installation of JAX cannot send arrays between processes.
    """
    check_state(equation, state)
    way = _between(equation.grid.mesh, mesh, equation.grid.mesh)
    if way.number >= MAX_BEHIND:
        for process in way.receivers:
            way.messages.wait_for(f"received-{way.number + 1 - MAX_BEHIND}-{process}")
    message = offer_state(state, equation, mesh, way.next())
    if jax.process_index() == way.senders[0]:
        way.messages.leave(f"state-{way.number}", message)


def receive_state(equation: AnyEquation, stepper: Stepper, mesh: Mesh) -> State:
    """The state that a group of devices of other processes has sent by `send_state`, or will send.

    Every process with devices of the equation's grid calls it.

    Args:
        equation: the equation of the senders, on the devices that receive.
        stepper: stepper of the state.
        mesh: mesh of the group that sends, from `device_groups`.

    Returns:
        The state of the same bits, without sums of outputs, on the devices of the equation's grid. Waits until all of
        it is there.

    Raises:
        CheckpointError: the state is not one of this equation and stepper; the message names the entry.
        ValueError: a mesh with devices of this process.
        LaunchError: this installation of JAX cannot send arrays between processes.
    """
    way = _between(mesh, equation.grid.mesh, equation.grid.mesh)
    name, process = way.next(), jax.process_index()
    message = way.messages.wait_for(f"state-{way.number}")
    state = fetch_state(message, equation, stepper, mesh, name, {})
    way.messages.leave(f"received-{way.number}-{process}", None)
    old = way.number - KEPT_MESSAGES
    if old > 0:  # read by all, who have sent more states since
        way.messages.remove(f"received-{old}-{process}")
        if process == way.receivers[0]:
            way.messages.remove(f"state-{old}")
    return state


def _between(sender: Mesh, receiver: Mesh, own: Mesh) -> _Way:
    """The way between two groups, of which this process belongs to one alone.

    Raises:
        ValueError: a process with devices of both groups, or of neither.
    """
    mine = jax.process_index()
    is_own, is_both = mine in processes_of(own), mine in processes_of(sender) and mine in processes_of(receiver)
    if is_both or not is_own:
        raise ValueError(
            f"process {mine} with devices of {'both groups' if is_both else 'the other group alone'}: a state is sent "
            "to devices of other processes (hand_over is for those of this one)"
        )
    return _way(sender, receiver)
