# made by solver.assemble.make_index
from solver.bodies.body import Body as Body
from solver.bodies.body import Obstacle as Obstacle
from solver.bodies.obstacles import Obstacles as Obstacles
from solver.bodies.sampled import Sampled as Sampled
from solver.bodies.sampled import from_image as from_image
from solver.bodies.shapes import Box as Box
from solver.bodies.shapes import Cylinder as Cylinder
from solver.bodies.shapes import Cylinders as Cylinders
from solver.bodies.shapes import Ellipsoid as Ellipsoid
from solver.bodies.shapes import Sphere as Sphere
from solver.bodies.shapes import Wall as Wall
from solver.bodies.shapes import from_distance as from_distance
from solver.bodies.sponge import Sponge as Sponge
