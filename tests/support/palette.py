"""Pictures of the docs in a quarter of their size: ``python -m tests.support.palette docs/demo-disk.png``."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray
from PIL import Image
from scipy.spatial import cKDTree

from heat_neo4j.plots.style import COLOURS, FACE, INK, REST

_STRENGTHS = (0.06, 0.12, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)


def with_palette(picture: bytes) -> bytes:
    """Return a .png with each pixel in the nearest tint: palettes made from the picture drop rare hues."""
    with Image.open(BytesIO(picture)) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=np.int64)
    tints = _tints()
    packed = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    colours, place = np.unique(packed, return_inverse=True)
    _, nearest = cKDTree(tints).query(np.stack((colours >> 16, colours >> 8 & 255, colours & 255), axis=1))
    indexed = Image.fromarray(np.asarray(nearest)[place].reshape(packed.shape).astype(np.uint8), mode="P")
    indexed.putpalette(tints.astype(np.uint8).tobytes())
    buffer = BytesIO()
    indexed.save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def _tints() -> NDArray[np.float64]:
    """Return white, and every colour from faint to full on the background, and darkened as labels are."""
    face, paints = np.array(to_rgb(FACE)), np.array([to_rgb(colour) for colour in (*COLOURS, REST, INK)])
    strength = np.array(_STRENGTHS)[:, None, None]
    tints = [np.ones((1, 3)), face[None], *(strength * paints + (1.0 - strength) * face)]
    tints += [0.6 * paints, 0.3 * paints + 0.5 * face]
    return np.asarray(np.round(255.0 * np.concatenate(tints)))


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:]):
        each.write_bytes(with_palette(each.read_bytes()))
