"""Any number of layers of quasi-geostrophic flow, of any stratification, under mean flows and over topography."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from solver.dynamics.checks import need, require
from solver.dynamics.equation import Equation
from solver.dynamics.start_changes import Shares
from solver.equations.topography import checked_topography, topography_in_text, unresolved_topography
from solver.spaces.field import Field, MoreFields
from solver.written import Text
from solver.written.text import AS_WRITTEN

MOST_LAYERS = 8  # of which L has 64 entries for each mode, each a sum over 8 vertical modes


class MultiLayerQuasiGeostrophic(Equation):
    """Layers of quasi-geostrophic flow under mean flows along x, on a periodic box.

    q_n is the potential vorticity of layer n, from the top, u_n = ∇⊥ψ_n its flow. Layers of the thicknesses H_n, H in
    sum, exchange vorticity by the stretching of their interfaces, which have the reduced gravities g_n:

        q_n = ∇²ψ_n + F_n (ψ_{n+1} − ψ_n) H/H_n + F_{n−1} (ψ_{n−1} − ψ_n) H/H_n,    F_n = f²/(g_n H),

    with F_0 = 0 under a rigid lid, or f²/(g H) and ψ_0 = 0 under a free surface of gravity g. χ_m are the amplitudes of
    the vertical modes, orthonormal with the weights s_n² = H_n/H, and κ_m^−½ their radii of deformation; for χ_m an
    inversion is one division for each mode. U_n ∂_x q_n and (β − dQ_n/dy) ψ_n, the advection by the mean flow
    and of its potential vorticity, are linear, as are drag, viscosity and hyperviscosity: one complex N × N matrix for
    each mode, so that waves and baroclinic growth are exact for any step with integrating-factor and exponential
    steppers. A right-hand side costs 3 inverse and 2 forward transforms of each layer, and one more with topography.
    Without mean flows, drag and viscosity it conserves the energy Σ ½ s_n² ⟨|∇ψ_n|²⟩ + Σ ½ F_n ⟨(ψ_{n+1} − ψ_n)²⟩,
    and the enstrophies ½⟨q_n²⟩, the last one of q + η where there is topography.

    Two layers of the same thickness are `two-layer-quasi-geostrophic` with k_d² = 4 F_1.

    Good values: f = 1, thicknesses that sum up to 1, F_n H/H_n of some tens in a box of 2π, U_n of order 1 falling
    downwards, r = 0.1 to 1 times U over the largest radius of deformation; p = 4 with ν_h k_max^8 of the order of
    the r.m.s. q.

    Args:
        grid: two dimensions, real fields.
        layers: names of the layers from the top, two to eight; each is a field of its own, its potential vorticity.
        thicknesses: H_n > 0 of each [length].
        reduced_gravities: g_n > 0 of each interface, one less than layers [length/time²].
        coriolis: f, not zero [1/time].
        surface_gravity: g > 0 of the free surface [length/time²]; a rigid lid if None.
        mean_flows: U_n of each, along x [length/time]; none if empty.
        beta: β, the gradient of the Coriolis parameter along y [1/(length·time)].
        drag: r ≥ 0, of the lowest layer [1/time].
        viscosity: ν ≥ 0 [length²/time].
        hyperviscosity: ν_h ≥ 0 [length^(2p)/time].
        hyper_order: p, one or more, static.
        topography: η = f b/H_N of the height b of the bottom [1/time], an expression of x and y such as
            `"0.5*cos(2*x)*cos(y)"`, in Python also values at the points; none if None. It must be periodic, and the
            grid must resolve it: a start warns of the share that lies beyond the modes.

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), sections 5.3.2 and 5.6; Flierl, Dyn. Atmos. Oceans 2
    (1978) 341 (vertical modes).
    """

    layers: tuple[str, ...] = eqx.field(static=True, converter=tuple)
    thicknesses: tuple[ArrayLike, ...] = eqx.field(converter=tuple)
    reduced_gravities: tuple[ArrayLike, ...] = eqx.field(converter=tuple)
    coriolis: ArrayLike = 1.0
    surface_gravity: ArrayLike | None = None
    mean_flows: tuple[ArrayLike, ...] = eqx.field(default=(), converter=tuple)
    beta: ArrayLike = 0.0
    drag: ArrayLike = 0.0
    viscosity: ArrayLike = 0.0
    hyperviscosity: ArrayLike = 0.0
    hyper_order: int = eqx.field(static=True, default=2)
    topography: str | ArrayLike | None = eqx.field(default=None, converter=checked_topography)

    name: ClassVar[str] = "multi-layer-quasi-geostrophic"
    fields: ClassVar[Any] = MoreFields({}, by="layers", each=Field(units="1/time", zero_mean=True))
    dimensions: ClassVar[tuple[int, ...]] = (2,)
    spectrum_laws: ClassVar[dict[int, float]] = {2: 3.0}

    def __check_init__(self) -> None:
        count = len(self.layers)
        if not 2 <= count <= MOST_LAYERS:
            raise ValueError(f"layers {self.layers}: names of two to {MOST_LAYERS} layers are needed")
        if len(set(self.layers)) < count or {"", "top", "bottom"} & set(self.layers):  # words of texts
            raise ValueError(f"layers {self.layers}: names are needed that differ, none of them top or bottom")
        for attribute, needed in {"thicknesses": count, "reduced_gravities": count - 1}.items():
            if len(getattr(self, attribute)) != needed:
                raise ValueError(f"{attribute} {getattr(self, attribute)}: {needed} are needed for {count} layers")
            need(self, attribute, attribute, "positive numbers", above=0)
        if self.mean_flows and len(self.mean_flows) != count:
            raise ValueError(f"mean_flows {self.mean_flows}: {count} are needed, one for each layer")
        need(self, "mean_flows", "mean_flows", "finite numbers")
        need(self, "beta", "beta", "a finite number")
        need(self, "coriolis", "coriolis", "a finite number")
        require("coriolis", abs(self.coriolis), "a number other than zero", above=0)
        if self.surface_gravity is not None:
            need(self, "surface_gravity", "surface_gravity", "a positive number", above=0)

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equations of so many layers."""
        return _text(self.layers, self.surface_gravity is not None, tuple(topography_in_text(self.topography).items()))

    def unresolved(self) -> Shares:
        last = self.layers[-1]
        return {last: unresolved_topography(self.topography, self.space(last))}

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [_text(("q_1", "q_2", "q_3"), is_free=False)]

    def numbers(self) -> dict[str, Any]:
        np_ = jnp if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(self._of_columns)) else np
        weights, couplings, surface = self._shares(np_)
        stretching = _stretching(np_, weights, couplings, surface)
        root = np_.sqrt(weights)
        radii, modes = np_.linalg.eigh(-stretching * root[:, None] / root[None, :])
        flows = np_.stack([np_.asarray(u) for u in self.mean_flows]) if self.mean_flows else np_.zeros(len(self.layers))
        slopes = self.beta - stretching @ flows
        own = ("drag", "viscosity", "hyperviscosity", "hyper_order")
        numbered = {"flow": flows, "slope": slopes, "s": root, "coupling": couplings, "inverse_radius": radii}
        found = {f"{name}_{n}": value for name, values in numbered.items() for n, value in enumerate(values, 1)}
        found |= {f"mode_{n}_{m}": value for n, row in enumerate(modes, 1) for m, value in enumerate(row, 1)}
        found |= {"surface_coupling": surface}
        # numbers of NumPy's would make single precision double
        found = {name: float(v) if np_ is np else jnp.asarray(v, self.grid.dtype) for name, v in found.items()}
        found |= {name: getattr(self, name) for name in own}
        return {name: found[name] for name in self.parameters_in_text}

    @property
    def _of_columns(self) -> tuple[Any, ...]:
        """The parameters of the stratification and of the mean state."""
        return self.thicknesses, self.reduced_gravities, self.coriolis, self.surface_gravity, self.mean_flows, self.beta

    def _shares(self, np_: Any) -> tuple[Any, Any, Any]:
        """H_n/H of the layers, F_n of the interfaces, F_0 of the surface."""
        thicknesses = np_.stack([np_.asarray(h) for h in self.thicknesses])
        depth, f2 = np_.sum(thicknesses), self.coriolis**2
        couplings = f2 / (np_.stack([np_.asarray(g) for g in self.reduced_gravities]) * depth)
        surface = 0.0 if self.surface_gravity is None else f2 / (self.surface_gravity * depth)
        return thicknesses / depth, couplings, surface


def _stretching(np_: Any, weights: Any, couplings: Any, surface: Any) -> Any:
    """The matrix S of q = ∇²ψ + S ψ [1/length²]: rows of layers, times H_n/H symmetric."""
    count = len(weights)
    below, above = np_.eye(count, k=1), np_.eye(count, k=-1)
    padded = np_.concatenate([couplings, np_.zeros(1)])
    exchange = padded[:, None] * (below - np_.eye(count) * (np_.arange(count) < count - 1)[:, None])
    from_above = np_.concatenate([np_.zeros(1), couplings])
    exchange = exchange + from_above[:, None] * (above - np_.eye(count) * (np_.arange(count) > 0)[:, None])
    return (exchange - surface * np_.eye(count) * (np_.arange(count) == 0)[:, None]) / weights[:, None]


@cache
def _text(layers: tuple[str, ...], is_free: bool, topography: tuple[tuple[str, Any], ...] = ()) -> Text:
    """The equations of these layers, under a free surface or a rigid lid, perhaps over topography."""
    count, keys, has = len(layers), dict(topography), bool(topography)
    numbered = list(enumerate(layers, 1))
    last = layers[-1]
    inverted = {
        f"chi_{m}": f"-helmholtz({_sum(f'mode_{n}_{m}*s_{n}*{q}' for n, q in numbered)}, inverse_radius_{m})"
        if m > 1 or is_free
        else f"inverse_lap({_sum(f'mode_{n}_1*s_{n}*{q}' for n, q in numbered)})"
        for m in range(1, count + 1)
    }
    streams = {f"psi_{n}": f"({_sum(f'mode_{n}_{m}*chi_{m}' for m in range(1, count + 1))})/s_{n}" for n, _ in numbered}
    flows = {f"u_{n}": f"perp(psi_{n})" for n, _ in numbered}
    energy = "-(" + _sum(f"s_{n}**2*psi_{n}*{q}" for n, q in numbered) + ")/2"
    thickness = [f"coupling_{n}*(psi_{n + 1} - psi_{n})**2/2" for n in range(1, count)]
    kinetic = {f"{q}_kinetic_energy": f"s_{n}**2*u_{n}@u_{n}/2" for n, q in numbered}
    enstrophies = {f"{q}_enstrophy": f"{q}**2/2" for q in layers}
    total = {"total_enstrophy": f"({last} + topography)**2/2"} if has else {}
    return Text(
        write=[_line(n, q, is_last=q == last, has_topography=has and q == last) for n, q in numbered],
        fields=dict.fromkeys(layers, "scalar"),
        parameters=dict.fromkeys(_parameters(count, is_free), "scalar"),
        define={**inverted, **streams, **flows, **dict(keys.get("define", ()))},
        at_points=keys.get("at_points", ()),
        units={
            **dict.fromkeys(layers, "1/time"),
            **dict.fromkeys(["energy", "available_energy", *kinetic], "length^2/time^2"),
            **dict.fromkeys([*enstrophies, *total], "1/time^2"),
        },
        means=dict.fromkeys(layers, 0),
        energies={"energy": energy},
        series={
            **kinetic,
            "available_energy": _sum([*thickness, *(["surface_coupling*psi_1**2/2"] if is_free else [])]),
            **enstrophies,
            **total,
        },
        invariants={"energy": energy, **enstrophies},
        spectra=list(kinetic),
        vectors={f"{q}_velocity": f"u_{n}" for n, q in numbered},
        flows={f"{q}_velocity": f"u_{n} + flow_{n}*ex" for n, q in numbered},
        limits={**dict.fromkeys(["drag", "viscosity", "hyperviscosity"], ">= 0"), "hyper_order": ">= 1"},
        symbols=_symbols(count),
        plan=AS_WRITTEN,  # of which the transforms are five for each layer; a search takes minutes for many layers
    )


def _line(n: int, q: str, *, is_last: bool, has_topography: bool) -> str:
    moved = f"{q} + topography" if has_topography else q
    held = f" - cause(topography, dx(flow_{n}*topography))" if has_topography else ""
    slowed = f" - cause(drag, drag*lap(psi_{n}))" if is_last else ""
    return (
        f"dt({q}) = -div(u_{n}*({moved})) - cause(shear, flow_{n}*dx({q}) + slope_{n}*dx(psi_{n})){held}{slowed}"
        f" + cause(viscosity, viscosity*lap({q}) + hyper({q}, hyperviscosity, hyper_order))"
    )


def _parameters(count: int, is_free: bool) -> list[str]:
    """Names of the numbers in the text."""
    numbers = range(1, count + 1)
    each = [f"{name}_{n}" for name in ("flow", "slope", "s") for n in numbers]
    radii = [f"inverse_radius_{m}" for m in numbers if m > 1 or is_free]
    interfaces = [f"coupling_{n}" for n in range(1, count)] + ["surface_coupling"] * is_free
    modes = [f"mode_{n}_{m}" for n in numbers for m in numbers]
    return [*each, *radii, *interfaces, *modes, "drag", "viscosity", "hyperviscosity", "hyper_order"]


def _sum(terms: Any) -> str:
    return " + ".join(terms)


def _symbols(count: int) -> dict[str, str]:
    """Printed forms of the numbered parameters."""
    numbers = range(1, count + 1)
    shown = {"drag": "r", "viscosity": "nu", "hyperviscosity": "nu_h", "hyper_order": "p", "topography": "eta"}
    each = {"flow": "U", "slope": "G", "inverse_radius": "kappa", "coupling": "F"}
    shown |= {f"{name}_{n}": f"{short}_{n}" for name, short in each.items() for n in numbers}
    return shown | {f"mode_{n}_{m}": f"v_{n}{m}" for n in numbers for m in numbers}
