"""Films: frames, one at a time, into an mp4 or a GIF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FORMATS = (".mp4", ".gif")


def has_ffmpeg() -> bool:
    """Whether mp4 can be written: imageio-ffmpeg brings the program along."""
    try:
        import imageio_ffmpeg  # noqa: F401
    except ImportError:
        return False
    return True


def write_movie(frames: Iterator[np.ndarray], path: Path, fps: float) -> None:
    """Write frames `(height, width, 3)` of bytes, all of one size, of which one is held at a time.

    Args:
        frames: at least one.
        path: ends in .mp4 or .gif; replaced as a whole.
        fps: frames per second.

    Raises:
        ValueError: another ending, or a rate that is not positive.
        ModuleNotFoundError: an mp4 without imageio-ffmpeg.
    """
    if path.suffix not in FORMATS:
        raise ValueError(f"{path}: a name that ends in {' or '.join(FORMATS)} is needed")
    if not 0 < fps <= 240:
        raise ValueError(f"fps {fps:g}: a number above 0, and at most 240, is needed")
    if path.suffix == ".mp4" and not has_ffmpeg():
        raise ModuleNotFoundError("an mp4 needs imageio-ffmpeg: pip install 'slabwave[movie]', or name a .gif")
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        (_write_mp4 if path.suffix == ".mp4" else _write_gif)(frames, partial, fps)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_mp4(frames: Iterator[np.ndarray], path: Path, fps: float) -> None:
    import imageio_ffmpeg

    first = _even(next(frames))
    size = (first.shape[1], first.shape[0])
    film = imageio_ffmpeg.write_frames(
        str(path), size, fps=fps, quality=8, macro_block_size=2, ffmpeg_log_level="error"
    )
    film.send(None)
    try:
        film.send(first)
        for frame in frames:
            film.send(_even(frame))
    finally:
        film.close()


def _even(frame: np.ndarray) -> np.ndarray:
    """The codec halves the sides for its colours."""
    return np.ascontiguousarray(frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2])


def _write_gif(frames: Iterator[np.ndarray], path: Path, fps: float) -> None:
    from PIL import Image

    def reduced(frame: np.ndarray) -> Any:
        return Image.fromarray(frame).quantize(255, dither=Image.Dither.NONE)

    first = reduced(next(frames))
    duration = max(20, round(1000 / fps))  # milliseconds; viewers slow down anything shorter
    first.save(path, save_all=True, append_images=map(reduced, frames), duration=duration, loop=0)
