"""The turbulent channel: profiles compared with the published table, and a run that was stopped continues."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from solver.validate import turbulent_channel
from solver.validate.turbulent_channel import PUBLISHED, REYNOLDS, SHEAR, TABLE, compared, turbulent
from solver.walls.legendre import gauss_points

xarray = pytest.importorskip("xarray")
FRICTION = PUBLISHED["friction"] / REYNOLDS


def published():
    """Means over planes that have the table's profiles at both walls, with a pressure and a dissipation of zero."""
    z = 1 + gauss_points(97)[0]
    near, upper = np.minimum(z, 2 - z) * FRICTION * REYNOLDS, z > 1
    splines = [CubicSpline([0, *TABLE[:, 0]], [0, *column]) for column in TABLE[:, 1:].T]
    mean, *stresses, shear = (spline(near) for spline in splines)
    slope = splines[0](near, 1)
    names = ["velocity_x", "velocity_y", "velocity_z"]
    columns = dict.fromkeys([f"{a}{end}" for a in names for end in ("", "_slope")], 0 * z)
    columns["velocity_x"] = FRICTION * mean
    columns["velocity_x_slope"] = FRICTION**2 * REYNOLDS * np.where(upper, -slope, slope)
    columns |= {f"{a}_{b}": 0 * z for i, a in enumerate(names) for b in names[i:]}
    columns |= {f"{a}_{a}": FRICTION**2 * stress for a, stress in zip(names, stresses, strict=True)}
    columns["velocity_x_velocity_x"] = columns["velocity_x_velocity_x"] + columns["velocity_x"] ** 2
    columns[SHEAR] = FRICTION**2 * np.where(upper, shear, -shear)
    columns |= {f"{a}_{a}_{a}": 0 * z for a in names}
    columns |= {"velocity_gradient_square": columns["velocity_x_slope"] ** 2, "velocity_transport": 0 * z}
    made = {name: (("z",), column) for name, column in columns.items()}
    return xarray.Dataset({**made, "viscosity": 1 / REYNOLDS}, {"z": z})


def test_the_published_profiles_hold_and_others_do_not():
    found = {one.quantity: one for one in compared(published()) if one.source == turbulent_channel.MKM}
    del found["dissipation at the wall, over u_τ⁴/ν"]
    assert all(one.holds for one in found.values()), found
    assert max(one.computed for name, one in found.items() if "difference" in name) < 0.1
    of_walls = {one.quantity: one.computed for one in compared(published())}
    assert of_walls["largest difference of the total stress from 1 − z/h"] < 0.02
    scaled = published()
    scaled["velocity_z_velocity_z"] = 1.5 * scaled["velocity_z_velocity_z"]
    assert {one.quantity for one in compared(scaled) if one.quantity in found and not one.holds} == {
        "largest difference of w_rms⁺"
    }


@pytest.mark.thorough
@pytest.mark.slow
def test_the_flow_goes_on_and_is_averaged_where_it_has_settled(tmp_path, monkeypatch):
    """On few points to t = 0.3: windows after 0.1 count, and a second call finds the end reached."""
    short = {"COARSE": (8, 8, 17), "FINE": (8, 12, 25), "DEVELOPED": 0.2, "SETTLED": 0.1, "END": 0.3, "WINDOW": 0.1}
    for name, value in {**short, "SAMPLE_STEPS": 1}.items():
        monkeypatch.setattr(turbulent_channel, name, value)
    first = turbulent(tmp_path)
    assert np.isfinite([one.computed for one in first]).all()
    windows = turbulent_channel.open_run(tmp_path / "fine").statistics["vertical-profiles"]
    np.testing.assert_allclose(windows["since"], [0.0, 0.1, 0.2], atol=1e-9)
    later = turbulent_channel.profiles(tmp_path / "fine", 0.2)
    np.testing.assert_array_equal(later["velocity_x"], windows["velocity_x"][2])
    settled = turbulent_channel.profiles(tmp_path / "fine", 0.1)
    assert [one.computed for one in compared(settled)] == [one.computed for one in first]
    assert turbulent(tmp_path) == first
    assert "continuing from step-00000005" in (tmp_path / "fine" / "log.txt").read_text()
