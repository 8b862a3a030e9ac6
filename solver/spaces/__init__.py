"""Where fields live: `Space`, the protocol, and the Fourier series of a periodic box; docs/spaces.md."""

from solver.spaces.base import NotInSpace as NotInSpace, Space as Space
from solver.spaces.field import Field as Field, MoreFields as MoreFields, fields_of as fields_of
from solver.spaces.fourier import FourierSpace as FourierSpace
