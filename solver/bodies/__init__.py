"""Bodies and sponges in a periodic box: what draws a velocity towards another one at some points.

An equation takes them as `bodies=`: one of them, or a dict by name. Their numbers are leaves.
"""

from typing import Any

from solver.bodies.body import Body as Body, Obstacle as Obstacle
from solver.bodies.obstacles import Obstacles as Obstacles
from solver.bodies.sampled import Sampled as Sampled, from_image as from_image
from solver.bodies.shapes import from_distance as from_distance
from solver.discovery import public_class, public_names


def __getattr__(name: str) -> Any:
    return public_class(__name__, Obstacle, name)


def __dir__() -> list[str]:
    return public_names(__name__, Obstacle)
