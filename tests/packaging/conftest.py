"""The distribution, built once for all tests of this folder."""

import sys
from pathlib import Path

import pytest

from tests.support.environments import clean_variables, finish

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The sdist and the wheel that was built from it, as `python -m build` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--installer", "uv", "--outdir", str(folder), str(ROOT)]
    finish(command, env=clean_variables())
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel
