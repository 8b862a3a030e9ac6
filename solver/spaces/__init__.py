"""`Space`, the protocol of the functions that a field is a series of, and Fourier series; docs/spaces.md."""

from solver.spaces.field import Field as Field, MoreFields as MoreFields, fields_of as fields_of
from solver.spaces.fourier import FourierSpace as FourierSpace
from solver.spaces.space import (
    EVEN_POINTS as EVEN_POINTS,
    FOURIER as FOURIER,
    NotInSpace as NotInSpace,
    Space as Space,
    refuse_lacking as refuse_lacking,
)
