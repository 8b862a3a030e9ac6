"""Folders that outlive a test, and are gone when the tests end."""

import os
import tempfile
from pathlib import Path


def scratch(name):
    """A new folder, in that of these tests; in the system's where no tests run."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=os.environ.get("SLABWAVE_TESTS")))
