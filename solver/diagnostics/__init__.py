"""Pure functions of fields: means, spectra, transfers, statistics, extremes; see docs/diagnostics.md."""

from solver.diagnostics.binned_spectra import Bins as Bins, binned_spectrum as binned_spectrum
from solver.diagnostics.extremes import largest as largest, smallest as smallest
from solver.diagnostics.gradients import (
    dissipation_rate as dissipation_rate,
    gradient_tensor as gradient_tensor,
    longitudinal as longitudinal,
    transverse as transverse,
    vorticity as vorticity,
)
from solver.diagnostics.heights import (
    correlation_by_height as correlation_by_height,
    density_by_height as density_by_height,
    line_spectra_by_height as line_spectra_by_height,
    log_density_by_height as log_density_by_height,
    plane_moments as plane_moments,
)
from solver.diagnostics.increments import (
    longest_separation as longest_separation,
    longitudinal_increments as longitudinal_increments,
    scalar_structure_functions as scalar_structure_functions,
    separations as separations,
    shifted as shifted,
    structure_functions as structure_functions,
)
from solver.diagnostics.line_spectra import (
    across_wavenumbers as across_wavenumbers,
    correlation_distances as correlation_distances,
    correlations as correlations,
    line_spectrum as line_spectrum,
    line_wavenumbers as line_wavenumbers,
    longitudinal_and_transverse as longitudinal_and_transverse,
    plane_spectrum as plane_spectrum,
)
from solver.diagnostics.modes import frequency_spectrum as frequency_spectrum, mode_coefficients as mode_coefficients
from solver.diagnostics.probability import (
    Moments as Moments,
    bin_centres as bin_centres,
    deviation_density as deviation_density,
    log_density as log_density,
    moments as moments,
    probability_density as probability_density,
    ratio as ratio,
)
from solver.diagnostics.profiles import (
    fit_soliton as fit_soliton,
    plane_mean as plane_mean,
    profile_around_peak as profile_around_peak,
    profile_radii as profile_radii,
    radial_profile as radial_profile,
    soliton_profile as soliton_profile,
    zonal_mean as zonal_mean,
)
from solver.diagnostics.scales import (
    characteristic_length as characteristic_length,
    effective_viscosity as effective_viscosity,
    flow_scales as flow_scales,
    integral_scale as integral_scale,
    longitudinal_gradients as longitudinal_gradients,
    smallest_eddies as smallest_eddies,
)
from solver.diagnostics.scattered import (
    count_by_index as count_by_index,
    counts_in_boxes as counts_in_boxes,
    particle_density as particle_density,
)
from solver.diagnostics.spectra import (
    co_spectrum as co_spectrum,
    mean_product as mean_product,
    mean_square as mean_square,
    quadrature_spectrum as quadrature_spectrum,
    shell_flux as shell_flux,
    shell_index as shell_index,
    shell_spectrum as shell_spectrum,
    shell_wavenumbers as shell_wavenumbers,
    shell_width as shell_width,
    sum_over_shells as sum_over_shells,
    weighted_mean_square as weighted_mean_square,
)
from solver.diagnostics.sums import sum_by_index as sum_by_index
