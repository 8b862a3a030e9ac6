"""`python -m solver` is `slabwave`."""

import sys

from solver.cli.main import main

sys.exit(main())
