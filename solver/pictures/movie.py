"""Films: frames of a run's snapshots, read one at a time, and how they are written into an mp4 or a GIF."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from solver.io import Snapshot, read_snapshot
from solver.pictures.drawn_slices import common_colours, figure_of, panels_of, plane_of, sides_of, slice_caption
from solver.pictures.slices import update_slices
from solver.pictures.style import View, style

FORMATS = (".mp4", ".gif")
SECONDS = 4.0  # that a film lasts
SLOWEST, FASTEST = 1.0, 24.0  # frames per second
DPI = 150


def has_ffmpeg() -> bool:
    """True if mp4 can be written, by the program that imageio-ffmpeg installs."""
    try:
        import imageio_ffmpeg  # noqa: F401
    except ImportError:
        return False
    return True


def frame_rate(count: int) -> float:
    """Frames per second of a film of so many frames: it lasts 4 s, but no frame more than 1 s or less than 1/24 s."""
    return min(max(count / SECONDS, SLOWEST), FASTEST)


def write_movie(frames: Iterator[np.ndarray], path: Path, fps: float) -> None:
    """Write frames `(height, width, 3)` of bytes, all of one size. One frame at a time is held in memory.

    Args:
        frames: at least one.
        path: ends in .mp4 or .gif; replaced as a whole.
        fps: frames per second.

    Raises:
        ValueError: the path has another ending, or the rate is not positive.
        ModuleNotFoundError: the film is an mp4 and imageio-ffmpeg is not installed.
    """
    if path.suffix not in FORMATS:
        raise ValueError(f"{path}: a name that ends in {' or '.join(FORMATS)} is needed")
    if not 0 < fps <= 240:
        raise ValueError(f"fps {fps:g}: a number above 0, and at most 240, is needed")
    if path.suffix == ".mp4" and not has_ffmpeg():
        raise ModuleNotFoundError("an mp4 needs imageio-ffmpeg: pip install '.[movie]' in the checkout, or name a .gif")
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        (_write_mp4 if path.suffix == ".mp4" else _write_gif)(frames, partial, fps)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_mp4(frames: Iterator[np.ndarray], path: Path, fps: float) -> None:
    """Write H.264 in a pixel format that every player supports.

    ffmpeg is not started by imageio-ffmpeg, which would fork this process while JAX's threads may hold locks.
    """
    import imageio_ffmpeg

    first = _with_even_sides(next(frames))
    size = f"{first.shape[1]}x{first.shape[0]}"
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{fps:g}", "-i", "-"]
    coded = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"]
    words = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", *source, *coded, str(path)]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors) as ffmpeg:
            assert ffmpeg.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # ffmpeg ended early and wrote the reason to `errors`
                for frame in itertools.chain([first], map(_with_even_sides, frames)):
                    ffmpeg.stdin.write(frame.tobytes())
                ffmpeg.stdin.close()
        if ffmpeg.returncode:
            errors.seek(0)
            raise ValueError(f"ffmpeg: {' '.join(errors.read().decode(errors='replace').split())}")


def _with_even_sides(frame: np.ndarray) -> np.ndarray:
    """A frame with even sides, since the codec halves them for its colours."""
    return np.ascontiguousarray(frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2])


def _write_gif(frames: Iterator[np.ndarray], path: Path, fps: float) -> None:
    from PIL import Image

    def reduced(frame: np.ndarray) -> Any:
        return Image.fromarray(frame).quantize(255, dither=Image.Dither.NONE)

    first = reduced(next(frames))
    duration = max(20, round(1000 / fps))  # milliseconds; viewers slow down anything shorter
    first.save(path, save_all=True, append_images=map(reduced, frames), duration=duration, loop=0)


def frames(
    paths: Sequence[Path], view: View, dpi: int = DPI, read: Callable[[Path], Snapshot] = read_snapshot
) -> Iterator[np.ndarray]:
    """Pictures `(height, width, 3)` in bytes, one for each file.

    Args:
        paths: paths of the snapshots, or of slices, at least one.
        view: chooses the slices.
        dpi: pixels per inch.
        read: reads a file as a snapshot, or one part of a file of slices.

    Raises:
        ValueError: the snapshots lack what the view chooses.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = figure_of(read(paths[0]), view, common_colours(map(read, paths), view))
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    with style(view):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # keeps every part in place from frame to frame
    for path in paths:
        snapshot = read(path)
        plane = plane_of(snapshot, view)
        panels, sides = panels_of(snapshot, view, plane), sides_of(snapshot, plane)
        update_slices(figure, panels, sides, slice_caption(snapshot, plane), view)
        with style(view):
            canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()
