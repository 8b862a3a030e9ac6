# made by solver.assemble.make_index
from solver.closures.closure import AnyClosure as AnyClosure
from solver.closures.closure import Closure as Closure
from solver.closures.closure import EddyViscosity as EddyViscosity
from solver.closures.closure import SpectralViscosity as SpectralViscosity
from solver.closures.closure import size_of_strain as size_of_strain
from solver.closures.dynamic import DynamicSmagorinsky as DynamicSmagorinsky
from solver.closures.smagorinsky import Smagorinsky as Smagorinsky
from solver.closures.spectral import Spectral as Spectral
from solver.closures.wale import WALE as WALE
