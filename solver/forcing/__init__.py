"""What drives a flow: one frozen class each, parameters as leaves. An equation takes it as `forcing=`."""

from solver.forcing.base import Forcing
from solver.forcing.constant_power import ConstantPower
from solver.forcing.ornstein_uhlenbeck import OrnsteinUhlenbeck

__all__ = ["ConstantPower", "Forcing", "OrnsteinUhlenbeck"]
