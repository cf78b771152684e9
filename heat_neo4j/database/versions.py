"""Addresses: what a version of a model sends readers to, and what becomes of that.

The properties of a ``HeatVersion`` node are an address, and the address before it for a rollback. Such a node
never changes: every function here returns the properties of another one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

__all__ = [
    "Address",
    "address_of",
    "previous_address",
    "published",
    "rolled_back",
    "runs_of",
    "version_of",
    "with_index",
    "without_previous",
    "without_runs",
]

Address = Mapping[str, Any]

# Properties that send readers to the published coordinates, and to the published links.
_COORDINATES = (
    "run",
    "slot",
    "embeddingProperty",
    "radiusProperty",
    "runProperty",
    "vectorProperty",
    "vectorScale",
    "indexes",
    "core",
    "coordinates",
    "dimension",
)
_LINKS = ("linkRun", "linkType", "linkRadius", "linkTemperature")


def address_of(version: Address) -> dict[str, Any]:
    """Return what a version sends readers to, without what is missing."""
    names = (*_COORDINATES, *_LINKS)
    return {name: version[name] for name in names if version.get(name) is not None}


def previous_address(version: Address) -> dict[str, Any]:
    """Return what a version is rolled back to, without anything if that is not kept."""
    try:
        kept: dict[str, Any] = dict(json.loads(version.get("previous", "{}")))
    except (TypeError, ValueError, RecursionError):  # somebody has changed it: there is no way back
        return {}
    # Where only links came since, the index of the same coordinates may have come or gone.
    if kept.get("run") and kept["run"] == version.get("run"):
        links = {name: kept[name] for name in _LINKS if name in kept}
        kept = {name: version[name] for name in _COORDINATES if name in version} | links
    return kept


def runs_of(address: Address) -> tuple[str | None, str | None]:
    """Return the runs that wrote the coordinates and the links to which an address sends readers."""
    return address.get("run"), address.get("linkRun")


def version_of(version: Address) -> dict[str, Any]:
    """Return the properties that say what a version is: those that all functions below return."""
    return _version(address_of(version), previous_address(version))


def published(version: Address, parts: Address) -> dict[str, Any]:
    """Return the version in which `parts` of an address took the place of those of `version`."""
    now = address_of(version)
    return _version(address_of({**now, **parts}), now)


def rolled_back(version: Address) -> dict[str, Any]:
    """Return the version before `version`, which is kept in its place."""
    return _version(previous_address(version), address_of(version))


def with_index(version: Address, index: Address) -> dict[str, Any]:
    """Return `version` with other properties that say where its index is; those that are None go."""
    return _version(address_of({**version, **index}), previous_address(version))


def without_previous(version: Address) -> dict[str, Any]:
    """Return `version` without what it would be rolled back to."""
    return _version(address_of(version), {})


def without_runs(version: Address, runs: Collection[str]) -> dict[str, Any]:
    """Return `version` without what `runs` wrote.

    What it would be rolled back to goes as a whole if one of the runs wrote a part of it, or if it is no
    other than what is left.
    """
    gone = {name for name, run in zip(("run", "linkRun"), runs_of(version), strict=True) if run in runs}
    lost = {*(_COORDINATES if "run" in gone else ()), *(_LINKS if "linkRun" in gone else ())}
    now = {name: value for name, value in address_of(version).items() if name not in lost}
    before = previous_address(version)
    if any(run in runs for run in runs_of(before)) or runs_of(before) == runs_of(now):
        before = {}
    return _version(now, before)


def _version(now: Address, before: Address) -> dict[str, Any]:
    """Return the properties of a version."""
    kept = {
        "previous": json.dumps(before, sort_keys=True),
        "previousRun": before.get("run"),
        "previousLinkRun": before.get("linkRun"),
    }
    known = kept if any(runs_of(before)) else {}
    return {**now, **{name: value for name, value in known.items() if value is not None}}
