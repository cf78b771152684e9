"""What a run was asked for, as it is recorded, and how a later wish differs from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from heat_neo4j._publishing import LinkOptions
from heat_neo4j.database import Projection

__all__ = ["difference", "settings_of"]

_NO_MATTER = ("n_threads", "random_state", "time_limit")  # another seed is no other wish


def settings_of(
    projection: Projection,
    parameters: Mapping[str, Any],
    links: LinkOptions | None,
    coordinates: str,
    choose: Sequence[str],
) -> dict[str, Any]:
    """Return all that decides a version beside the graph and the seed, as JSON data.

    Parameters
    ----------
    projection : Projection
        What is read.
    parameters : mapping
        Of the estimator, before any is chosen.
    links : LinkOptions, optional
        Which links are predicted; None for none.
    coordinates : str
        What is stored.
    choose : sequence of str
        Parameters that are chosen for the graph.
    """
    told = {name: "auto" if name in choose else value for name, value in parameters.items()}
    settings = {
        "projection": projection.to_dict(),
        "model": {name: value for name, value in sorted(told.items()) if name not in _NO_MATTER},
        "links": None if links is None else {**asdict(links), "score": links.score or "distance"},
        "coordinates": coordinates,
    }
    # As it will be read back: tuples become lists, scalars of numpy numbers.
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=np.generic.item))
    return plain


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return the first setting that differs, in words; None if none does."""
    for part, wanted in now.items():
        known = before.get(part)
        if known == wanted:
            continue
        if not (isinstance(known, Mapping) and isinstance(wanted, Mapping)):
            return f"{part} was {_shown(known)} and is {_shown(wanted)}"
        for name in dict.fromkeys((*wanted, *known)):
            if known.get(name) != wanted.get(name):
                return f"{name} was {_shown(known.get(name))} and is {_shown(wanted.get(name))}"
    return None


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "on"
    return "off" if value is None else str(value)
