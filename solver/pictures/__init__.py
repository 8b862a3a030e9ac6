"""Figures of runs in one style, made from plain arrays by matplotlib; `save` writes a figure."""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.pictures.colours import Colours, colours_of
    from solver.pictures.frequencies import frequencies_figure
    from solver.pictures.hovmoeller import hovmoeller_figure
    from solver.pictures.movie import has_ffmpeg, write_movie
    from solver.pictures.recorded import Recorded
    from solver.pictures.records import records_figure
    from solver.pictures.series import series_figure
    from solver.pictures.slices import Panel, slices_figure, update_slices
    from solver.pictures.spectra import spectra_figure
    from solver.pictures.style import pyplot, save
    from solver.pictures.view import FORMATS, PLANES, View

__getattr__ = imported_when_used(__name__, __file__)

__all__ = [
    "FORMATS",
    "PLANES",
    "Colours",
    "Panel",
    "Recorded",
    "View",
    "colours_of",
    "frequencies_figure",
    "has_ffmpeg",
    "hovmoeller_figure",
    "pyplot",
    "records_figure",
    "save",
    "series_figure",
    "slices_figure",
    "spectra_figure",
    "update_slices",
    "write_movie",
]
