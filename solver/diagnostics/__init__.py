"""Pure functions of fields: means, spectra, transfers, statistics, extremes; see docs/diagnostics.md."""

from solver.diagnostics.correlations import correlation_distances, correlations, longitudinal_and_transverse
from solver.diagnostics.cross_spectra import co_spectrum, quadrature_spectrum, shell_flux
from solver.diagnostics.extremes import largest, smallest
from solver.diagnostics.gradients import dissipation_rate, gradient_tensor, longitudinal, transverse, vorticity
from solver.diagnostics.increments import (
    longest_separation,
    longitudinal_increments,
    scalar_structure_functions,
    separations,
    shifted,
    structure_functions,
)
from solver.diagnostics.line_spectra import across_wavenumbers, line_spectrum, line_wavenumbers, plane_spectrum
from solver.diagnostics.modes import frequency_spectrum, mode_coefficients
from solver.diagnostics.probability import (
    Moments,
    bin_centres,
    deviation_density,
    log_density,
    moments,
    probability_density,
    ratio,
)
from solver.diagnostics.profiles import (
    fit_soliton,
    profile_around_peak,
    profile_radii,
    radial_profile,
    soliton_profile,
    zonal_mean,
)
from solver.diagnostics.scales import characteristic_length, flow_scales, integral_scale, longitudinal_gradients
from solver.diagnostics.spectra import (
    mean_product,
    mean_square,
    shell_index,
    shell_spectrum,
    shell_wavenumbers,
    shell_width,
    sum_over_shells,
    weighted_mean_square,
)
from solver.diagnostics.sums import sum_by_index

__all__ = [
    "Moments",
    "across_wavenumbers",
    "bin_centres",
    "characteristic_length",
    "co_spectrum",
    "correlation_distances",
    "correlations",
    "deviation_density",
    "dissipation_rate",
    "fit_soliton",
    "flow_scales",
    "frequency_spectrum",
    "gradient_tensor",
    "integral_scale",
    "largest",
    "line_spectrum",
    "line_wavenumbers",
    "log_density",
    "longest_separation",
    "longitudinal",
    "longitudinal_and_transverse",
    "longitudinal_gradients",
    "longitudinal_increments",
    "mean_product",
    "mean_square",
    "mode_coefficients",
    "moments",
    "plane_spectrum",
    "probability_density",
    "profile_around_peak",
    "profile_radii",
    "quadrature_spectrum",
    "radial_profile",
    "ratio",
    "scalar_structure_functions",
    "separations",
    "shell_flux",
    "shell_index",
    "shell_spectrum",
    "shell_wavenumbers",
    "shell_width",
    "shifted",
    "smallest",
    "soliton_profile",
    "structure_functions",
    "sum_by_index",
    "sum_over_shells",
    "transverse",
    "vorticity",
    "weighted_mean_square",
    "zonal_mean",
]
