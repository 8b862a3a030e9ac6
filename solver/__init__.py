"""Slabwave: distributed Fourier spectral methods in JAX.

Importing this package touches no device, sets no JAX flag, and does not even import JAX until a name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:  # read by `imported_when_used` too
    from solver import (
        bodies as bodies,
        closures as closures,
        dataset as dataset,
        diagnostics as diagnostics,
        equations as equations,
        fft as fft,
        forcing as forcing,
        initial as initial,
        io as io,
        operators as operators,
        outputs as outputs,
        particles as particles,
        spaces as spaces,
        steppers as steppers,
        walls as walls,
    )
    from solver.assemble import (
        Ensemble as Ensemble,
        StoppedEarly as StoppedEarly,
        plot as plot,
        register as register,
        run as run,
    )
    from solver.closures import Closure as Closure
    from solver.equations import (
        ChangedStart as ChangedStart,
        Companion as Companion,
        CompanionWarning as CompanionWarning,
        Equation as Equation,
        Field as Field,
        IdleForcing as IdleForcing,
        PassiveScalar as PassiveScalar,
        SplitEquation as SplitEquation,
        Table as Table,
        UnsolvedModes as UnsolvedModes,
        write as write,
    )
    from solver.grid import (
        Grid as Grid,
        Storage as Storage,
        from_device_pieces as from_device_pieces,
        from_global as from_global,
        from_process_local as from_process_local,
        gather as gather,
        sample as sample,
    )
    from solver.io import receive_state as receive_state, send_state as send_state
    from solver.loop import (
        FixedStep as FixedStep,
        KeepCFL as KeepCFL,
        LongStep as LongStep,
        MeetTolerance as MeetTolerance,
        RoundedTime as RoundedTime,
        Schedule as Schedule,
        StepControl as StepControl,
        evolve as evolve,
        integrate as integrate,
        rollout as rollout,
        step_function as step_function,
    )
    from solver.mesh import (
        MEMBER as MEMBER,
        device_groups as device_groups,
        device_mesh as device_mesh,
        show_sharding as show_sharding,
    )
    from solver.operators import Diagonal as Diagonal, Matrix as Matrix
    from solver.reading import (
        boundary_layers as boundary_layers,
        mean_with_error as mean_with_error,
        open_run as open_run,
        to_xarray as to_xarray,
        turbulence as turbulence,
        two_point_correlations as two_point_correlations,
        wall_units as wall_units,
    )
    from solver.spaces import Space as Space
    from solver.steppers import State as State, hand_over as hand_over, initial_state as initial_state
    from solver.written import Text as Text
    from solver.written.expressions import (
        cause as cause,
        closure as closure,
        cross as cross,
        curl as curl,
        div as div,
        dt as dt,
        dx as dx,
        dy as dy,
        dz as dz,
        explicit as explicit,
        fraclap as fraclap,
        grad as grad,
        helmholtz as helmholtz,
        hyper as hyper,
        inverse_lap as inverse_lap,
        lap as lap,
        mean as mean,
        outer as outer,
        penalise as penalise,
        perp as perp,
        symbols as symbols,
        trans as trans,
    )

__version__ = "0.1.0"

__getattr__, __dir__ = imported_when_used(__name__)
