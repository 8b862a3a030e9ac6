"""Copies the cases in `runs/` into built packages, so that `slabwave new` has them where there is no checkout."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithCases(build_py):
    """Also copies `runs/*.toml` to `solver/cases/`."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # the checkout's own are found
        folder = Path(self.build_lib) / "solver" / "cases"
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(Path(__file__).parent.glob("runs/*.toml")):
            self.copy_file(str(path), str(folder / path.name))


setup(cmdclass={"build_py": WithCases})
