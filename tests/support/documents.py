"""Documents that are followed to the letter: their sections and code blocks, and somebody who runs them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section(text: str, title: str) -> str:
    """Return the text under a heading of level 2."""
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found


def all_blocks(text: str) -> list[tuple[str, str]]:
    """Return language and content of all code blocks, in order."""
    return BLOCK.findall(text)


def blocks(text: str, language: str) -> list[str]:
    """Return the contents of all code blocks of one language."""
    return [content for found, content in all_blocks(text) if found == language]


class Reader:
    """Somebody who has a shell, a server and a document."""

    def __init__(self, folder: Path, server: Any) -> None:
        self.folder = folder
        command = folder / ".venv" / "bin" / "heat"
        command.parent.mkdir(parents=True)
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m heat_neo4j "$@"\n')
        command.chmod(0o755)
        path = os.pathsep.join([str(command.parent), os.environ["PATH"]])
        self.environment = {**os.environ, **server.environment, "PATH": path, "PYTHONPATH": str(ROOT)}

    def run(self, *arguments: str, without: Sequence[str] = ()) -> str:
        """Run a program in the folder; return what it said on stdout."""
        done = subprocess.run(
            arguments,
            cwd=self.folder,
            env=self._environment_without(without),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, *arguments: str, without: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a program in the folder that goes on."""
        return subprocess.Popen(arguments, cwd=self.folder, env=self._environment_without(without))

    def _environment_without(self, names: Sequence[str]) -> dict[str, str]:
        return {name: value for name, value in self.environment.items() if name not in names}
