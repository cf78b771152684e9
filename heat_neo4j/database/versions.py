"""Versions: which copy readers of a model use, and the transitions between versions.

The properties of a ``HeatVersion`` node record the names that the published coordinates and links are stored
under, and the version to roll back to. Such a node is immutable: each function here returns the properties of
a new one.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from heat_neo4j.database.documents import parse_document
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.statements import is_identifier
from heat_neo4j.geometry.hyperboloid import COORDINATES

Version = Mapping[str, Any]
RUN_ID = r"\d{8}T\d{6}Z-[0-9a-f]{12}"
"""Pattern of run ids. A property that matches was written by us."""
MOST_LABELS = 50
"""Maximum labels in a statement. Planning one with 2,000 labels takes longer than scanning 10^7 nodes."""

_COORDINATES = (
    "run", "space", "embeddingProperty", "radiusProperty", "runProperty", "vectorProperty", "indexes", "core",
    "coordinates", "dimension", "nodeLabels", "nodeCount", "valueProperties", "upwardTypes",
    "downwardTypes",
)  # fmt: skip
_LINKS = ("linkRun", "linkType")
_RUNS = {"embedding": "run", "values": "run", "links": "linkRun"}
_STAGED_COORDINATES = ("stagedEmbedding", "stagedRadius", "stagedRun", "stagedVector", "stagedValues")
_TABLE = ("space", "runProperty", "valueProperties")
"""Properties that readers of a model without coordinates, such as classes, need instead."""
_NEEDED = {
    "run": ("space", "embeddingProperty", "radiusProperty", "runProperty", "vectorProperty", "coordinates",
            "dimension"),
    "linkRun": ("linkType",),
}  # fmt: skip
_LARGEST_DIMENSION = 2**16


def is_run_id(value: Any) -> bool:
    """Return whether a value has the form of a run id; with another id, users' data might be removed."""
    return isinstance(value, str) and re.fullmatch(RUN_ID, value, re.ASCII) is not None


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("run", "space", "linkRun"), is_run_id),
    **dict.fromkeys(
        ("embeddingProperty", "radiusProperty", "runProperty", "vectorProperty", *_STAGED_COORDINATES[:-1],
         "linkType", "stagedLinkType"),
        is_identifier,
    ),
    "coordinates": lambda value: value in COORDINATES,
    "dimension": lambda value: type(value) is int and 0 < value <= _LARGEST_DIMENSION,
    **dict.fromkeys(
        ("indexes", "valueProperties", "stagedValues"),
        lambda value: isinstance(value, list) and all(map(is_identifier, value)),
    ),
    **dict.fromkeys(
        ("core", "nodeLabels", "upwardTypes", "downwardTypes"),
        lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    ),
    "nodeCount": lambda value: type(value) is int,
    "publishing": lambda value: isinstance(value, list) and all(each in _RUNS for each in value),
    "indexWanted": lambda value: isinstance(value, bool),
}  # fmt: skip
"""Validity check of each property of a version."""


def checked(properties: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the valid properties of a version, and the names of missing or invalid ones.

    If a property that readers need is missing, its whole part is dropped: the coordinates or the links.
    """
    damaged = [
        name for name, is_sound in _KINDS.items() if name in properties and not is_sound(properties[name])
    ]
    sound = {name: value for name, value in properties.items() if name not in damaged}
    for run, needed in _NEEDED.items():
        names = (run, *(_TABLE if run == "run" and holds_values(properties) else needed))
        missing = [name for name in names if name not in sound and name not in damaged]
        if len(missing) < len(names):
            damaged += missing
        if not sound.keys() >= set(names):
            parts = (*_COORDINATES, *_STAGED_COORDINATES) if run == "run" else (*_LINKS, "stagedLinkType")
            sound = {name: value for name, value in sound.items() if name not in parts}
    return sound, tuple(damaged)


def holds_values(*versions: Version) -> bool:
    """Return whether one of some versions of a model is a table of values, which has no coordinates."""
    return any("valueProperties" in version for version in versions)


def being_published(version: Version) -> tuple[str, ...]:
    """Return the parts of a version that are not yet stored under their plain names."""
    return tuple(version.get("publishing") or ())


def runs_of(version: Version) -> tuple[str | None, str | None]:
    """Return the runs that published the coordinates and the links of a version."""
    return version.get("run"), version.get("linkRun")


def labels_of(*versions: Version) -> tuple[str, ...]:
    """Return labels that cover all nodes with coordinates of some versions, at the time of writing.

    Empty if unknown or if there are too many; any node may then have coordinates.
    """
    labels: dict[str, None] = {}
    for version in versions:
        if "run" not in version:
            continue
        own, count = version.get("nodeLabels"), version.get("nodeCount")
        if not isinstance(own, list | tuple) or not own or type(count) is not int:
            return ()
        if not all(map(is_identifier, own)):  # changed by someone
            return ()
        labels |= dict.fromkeys(own)
    return tuple(labels) if len(labels) <= MOST_LABELS else ()


def previous_of(version: Version) -> dict[str, Any]:
    """Return the version that a version is rolled back to; empty if none is kept."""
    try:
        recorded = parse_document(version.get("previous", "{}"))
        previous, damaged = checked(recorded) if isinstance(recorded, dict) else ({}, ())
    except (TypeError, ValueError):
        return {}
    if damaged:  # changed by someone: rollback is impossible
        return {}
    # If only links were published since, the index over the same coordinates may have changed.
    if previous.get("run") and previous["run"] == version.get("run"):
        previous = {**_only(previous, _LINKS), **_only(version, _COORDINATES)}
    return previous


def published(version: Version, parts: Version, names: WriteNames, *, index: bool) -> dict[str, Any]:
    """Return the successor of `version` with other `parts`, which are stored under staged names."""
    return _staging(_version({**_address(version), **parts}, _address(version)), names, index=index)


def rolled_back(version: Version, names: WriteNames, *, index: bool) -> dict[str, Any]:
    """Return the predecessor of `version`, stored under staged names; `version` is kept in its place."""
    return _staging(_version(previous_of(version), _address(version)), names, index=index)


def at_rest(version: Version, indexes: Version, replaced: Version | None = None) -> dict[str, Any]:
    """Return `version` with only its plain names and with other indexes; None removes a property.

    `replaced` overrides properties of the version to roll back to.
    """
    before = previous_of(version)
    if "run" in before:
        before = {name: value for name, value in {**before, **(replaced or {})}.items() if value is not None}
    return _version({**_address(version), **indexes}, before)


def without_previous(version: Version) -> dict[str, Any]:
    """Return `version` without the version to roll back to."""
    return _version(_address(version), {})


def without_runs(version: Version, runs: Collection[str]) -> dict[str, Any]:
    """Return `version` without the parts that `runs` wrote.

    The version to roll back to is dropped if one of the runs wrote a part of it, if it equals the remaining
    parts, or if coordinates that both versions share are removed.
    """
    loses_coordinates = version.get("run") in runs or version.get("space") in runs
    loses_links = version.get("linkRun") in runs
    rest_names = (() if loses_coordinates else _COORDINATES) + (() if loses_links else _LINKS)
    rest = _only(version, rest_names)
    before = previous_of(version)
    is_torn = loses_coordinates and before.get("space") == version.get("space")
    written_before = (*runs_of(before), before.get("space"))
    if is_torn or any(run in runs for run in written_before) or runs_of(before) == runs_of(rest):
        before = {}
    return _version(rest, before)


def _staging(version: Version, names: WriteNames, *, index: bool) -> dict[str, Any]:
    """Return `version` with the staged names of its parts that differ from the previous version."""
    before = previous_of(version)
    absent = "embedding" if holds_values(version, before) else "values"
    changed = [part for part, run in _RUNS.items() if version.get(run) != before.get(run)]
    parts: Sequence[str] = [part for part in changed if part != absent]
    staged: dict[str, Any] = {"publishing": parts, "indexWanted": index}
    if "embedding" in parts and "run" in version:
        staged |= {
            "stagedEmbedding": names.staged.embedding,
            "stagedRadius": names.staged.radius,
            "stagedRun": names.staged.run,
            "stagedVector": names.staged.indexed(version["coordinates"]),
        }
    if "values" in parts and "run" in version:
        staged |= {"stagedRun": names.staged.run, "stagedValues": list(names.copy("staged")["value"])}
    if "links" in parts and "linkRun" in version:
        staged["stagedLinkType"] = names.links.staged
    return {**version, **staged}


def _address(version: Version) -> dict[str, Any]:
    """Return the properties that locate the published coordinates and links at rest."""
    return _only(version, (*_COORDINATES, *_LINKS))


def _only(version: Version, names: Collection[str]) -> dict[str, Any]:
    return {name: version[name] for name in names if version.get(name) is not None}


def _version(now: Version, before: Version) -> dict[str, Any]:
    """Return the properties of a version at rest."""
    version = _address(now)
    if any(runs_of(before)):
        previous = {
            "previous": json.dumps(before, sort_keys=True),
            "previousRun": before.get("run"),
            "previousSpace": before.get("space"),
            "previousLinkRun": before.get("linkRun"),
        }
        version |= {name: value for name, value in previous.items() if value is not None}
    return version
