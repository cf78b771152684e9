"""Virtual environments of a test's own, away from the checkout and from the environment of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SECONDS = 300.0


@dataclass(frozen=True)
class Environment:
    """A virtual environment, filled by uv, which keeps its downloads from one test run to the next."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, python: str = sys.executable) -> Environment:
        uv("venv", "--quiet", "--no-project", "--python", python, str(folder))
        return cls(folder)

    def install(self, *what: str) -> None:
        uv("pip", "install", "--quiet", "--python", str(self.folder / "bin" / "python"), *what)

    def run(self, program: str, *arguments: str, cwd: Path | None = None, **variables: str) -> str:
        """Run an installed program to its end in a folder without the checkout; return its stdout."""
        command = [str(self.folder / "bin" / program), *arguments]
        return finish(command, cwd=cwd or self.folder, env={**clean_variables(), **variables})


def uv(*arguments: str) -> str:
    """Run uv, which the test dependencies bring."""
    return finish([sys.executable, "-m", "uv", *arguments], env=clean_variables())


def clean_variables() -> dict[str, str]:
    """Return this process's variables without those that lead Python or uv to other code."""
    misleading = ("PYTHON", "VIRTUAL_ENV", "NUMBA_")
    return {name: value for name, value in os.environ.items() if not name.startswith(misleading)}


def finish(command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command; return its stdout, or fail with all that it said."""
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
