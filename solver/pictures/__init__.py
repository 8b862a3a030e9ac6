"""Figures of runs in one style, made from plain arrays by matplotlib; `save` writes a figure."""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.pictures.colours import Colours as Colours, colours_of as colours_of
    from solver.pictures.frequencies import frequencies_figure as frequencies_figure
    from solver.pictures.hovmoeller import hovmoeller_figure as hovmoeller_figure
    from solver.pictures.movie import frame_rate as frame_rate, has_ffmpeg as has_ffmpeg, write_movie as write_movie
    from solver.pictures.plane_panels import check_profiles as check_profiles
    from solver.pictures.recorded import Recorded as Recorded
    from solver.pictures.records import records_figure as records_figure
    from solver.pictures.series import ensemble_figure as ensemble_figure, series_figure as series_figure
    from solver.pictures.slices import Panel as Panel, slices_figure as slices_figure, update_slices as update_slices
    from solver.pictures.spectra import spectra_figure as spectra_figure
    from solver.pictures.style import FORMATS as FORMATS, PLANES as PLANES, View as View, pyplot as pyplot, save as save

__getattr__, __dir__ = imported_when_used(__name__)
