"""Copies `runs/` and `slurm/` into built packages, so that `new` and `submit` have them where there is no checkout."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

COPIED = {"runs/*.toml": "cases", "slurm/*.sbatch": "slurm", "slurm/sites/*.toml": "slurm/sites"}


class WithData(build_py):
    """Also copies cases, batch scripts and sites into folders of the package."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # the checkout's own are found
        for pattern, place in COPIED.items():
            folder = Path(self.build_lib) / "solver" / place
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(Path(__file__).parent.glob(pattern)):
                self.copy_file(str(path), str(folder / path.name))


setup(cmdclass={"build_py": WithData})
