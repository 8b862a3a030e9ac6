# made by solver.assemble.make_index
from solver.forcing.constant_power import ConstantPower as ConstantPower
from solver.forcing.flows import ABC as ABC
from solver.forcing.flows import Kolmogorov as Kolmogorov
from solver.forcing.flows import TaylorGreen as TaylorGreen
from solver.forcing.forcing import Forcing as Forcing
from solver.forcing.frozen_shells import FrozenShells as FrozenShells
from solver.forcing.ornstein_uhlenbeck import OrnsteinUhlenbeck as OrnsteinUhlenbeck
from solver.forcing.uniform import FlowRate as FlowRate
from solver.forcing.uniform import Uniform as Uniform
from solver.forcing.white import WhiteForcing as WhiteForcing
from solver.forcing.white_noise import WhiteNoise as WhiteNoise
