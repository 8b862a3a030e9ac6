"""Equations as text: read, checked and printed. Knows no grid and imports no JAX."""

from solver.written.formula import latex as latex, unicode as unicode
from solver.written.kinds import Kind as Kind, kind_of as kind_of
from solver.written.parse import read_expression as read_expression, read_line as read_line
from solver.written.system import System as System, read_system as read_system
from solver.written.text import Text as Text
from solver.written.tree import Line as Line, Node as Node, WrittenError as WrittenError
