# made by solver.assemble.make_index
from solver.particles.brownian import Brownian as Brownian
from solver.particles.flow import Flow as Flow
from solver.particles.inertial import Inertial as Inertial
from solver.particles.particles import Particles as Particles
from solver.particles.tracers import Tracers as Tracers
