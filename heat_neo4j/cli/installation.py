"""What is installed on this machine: versions, processors, memory, compiled code, and extras."""

import platform
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from heat_neo4j._utils.memory import free_memory, machine_memory
from heat_neo4j._utils.threads import available_processors
from heat_neo4j._utils.version import __version__
from heat_neo4j.embedding.compiling import CompiledCode, compiled_code

DISTRIBUTION = "heat-neo4j"

_LIBRARIES = ("neo4j", "neo4j-rust-ext", "numpy", "numba", "scipy", "scikit-learn")
"""What results and speed depend on."""
_OLDER_PYTHON = re.compile(r"python_version < ['\"]3\.(\d+)['\"]")
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+).*?(?:extra == ['\"](?P<extra>[\w-]+)['\"])?\)?")


@dataclass(frozen=True)
class Installation:
    """What this process runs with."""

    version: str
    folder: Path  # of the package
    python: str
    platform: str
    libraries: Mapping[str, str | None]  # the version of each; None if it is not installed
    processors: int  # that threads can keep busy
    processors_why: str
    memory: int  # bytes in all
    free_memory: int  # bytes
    compiled: CompiledCode
    # The distributions that each extra asks for, with their versions; None if one is not installed.
    extras: Mapping[str, Mapping[str, str | None]]

    @property
    def problems(self) -> tuple[str, ...]:
        """One line per problem."""
        if self.compiled.folder is not None:
            return ()
        return (
            "compiled code cannot be cached, so every run compiles again: set NUMBA_CACHE_DIR to a "
            "writable folder",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all that as JSON data."""
        folder = self.compiled.folder
        return {
            **vars(self),
            "folder": str(self.folder),
            "compiled": {**vars(self.compiled), "folder": None if folder is None else str(folder)},
        }


def installation() -> Installation:
    """Look at the process, the machine and the installed distributions."""
    processors, why = available_processors()
    return Installation(
        version=__version__,
        folder=Path(__file__).parents[1],
        python=f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}",
        platform=platform.platform(),
        libraries={name: _version(name) for name in _LIBRARIES},
        processors=processors,
        processors_why=why,
        memory=machine_memory(),
        free_memory=free_memory(),
        compiled=compiled_code(),
        extras=_extras(),
    )


def _version(name: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _extras() -> dict[str, dict[str, str | None]]:
    """Return the requirements of each extra; none if run from a source folder."""
    found: dict[str, dict[str, str | None]] = defaultdict(dict)
    for extra, name in _asked_for():
        found[extra][name] = _version(name)
    return dict(found)


def _asked_for() -> Iterator[tuple[str, str]]:
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return
    for requirement in requirements:
        match, older = _REQUIREMENT.fullmatch(requirement), _OLDER_PYTHON.search(requirement)
        if older is not None and sys.version_info >= (3, int(older[1])):
            continue
        if match is not None and match["extra"] is not None:
            yield match["extra"], match["name"]
