"""What a run node says of the run: collected from the graph, the model and the software."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from heat_neo4j import __version__
from heat_neo4j.database.connection import ServerInfo
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.errors import WriteRefused
from heat_neo4j.graph import Graph

__all__ = ["model_facts", "new_record", "new_run_id"]

_CURVE_VALUES = 200
_LARGEST_INTEGER = 2**63 - 1
_LIBRARIES = ("numpy", "numba", "scipy", "neo4j")


def new_run_id() -> str:
    """Return an id that no other run has: the time (UTC), then 48 random bits; ids sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(6)}"


def new_record(
    graph: Graph,
    server: ServerInfo,
    *,
    run_id: str,
    model: str,
    parts: Sequence[str],
    parameters: Mapping[str, Any] | None,
    stage_seconds: Mapping[str, float] | None,
) -> RunRecord:
    """Return what is known of a run before anything of it is written.

    Parameters
    ----------
    graph : Graph
        What it was computed from.
    server : ServerInfo
        Where it is written to.
    run_id, model : str
        Its id, and the name of its model.
    parts : sequence of str
        "embedding", "links" or both.
    parameters : mapping of str to JSON data, optional
        Parameters of the model.
    stage_seconds : mapping of str to float, optional
        Seconds of the stages before writing.
    """
    provenance = graph.provenance
    return RunRecord(
        run_id=run_id,
        model=model,
        parts=tuple(parts),
        status="incomplete",
        stored=tuple(parts),
        node_count=graph.n_nodes,
        edge_count=graph.n_edges,
        attribute_count=graph.n_attributes,
        labels=tuple(provenance.projection.get("labels") or ()),
        parameters=dict(parameters or {}),
        versions=_versions(server),
        projection=dict(provenance.projection),
        attribute_recipe=[dict(entry) for entry in provenance.attribute_recipe],
        counts=dict(provenance.counts),
        stage_seconds=dict(stage_seconds or {}),
    )


def model_facts(model: Any) -> dict[str, Any]:
    """Return the fields of `RunRecord` that a fitted model fills; none for a bare array.

    Raises
    ------
    WriteRefused
        If the loss is NaN or infinite.
    """
    facts: dict[str, Any] = {}
    if hasattr(model, "get_params"):
        facts["parameters"] = model.get_params()
    if hasattr(model, "seed_"):
        seed = int(model.seed_)
        facts["seed"] = seed if seed <= _LARGEST_INTEGER else str(seed)
    if hasattr(model, "n_pairs_"):
        facts["pair_count"] = int(model.n_pairs_)
    if hasattr(model, "training_"):
        facts["training"] = dict(model.training_)
    curve = np.asarray(getattr(model, "loss_curve_", ()), dtype=np.float64)
    if not np.isfinite(curve).all():
        raise WriteRefused("the loss of the training is NaN or infinite: nothing written")
    if curve.size:
        shown = np.unique(
            np.linspace(0, curve.size - 1, min(curve.size, _CURVE_VALUES)).round().astype(np.int64)
        )
        facts["loss_curve"] = tuple(curve[shown].tolist())
        facts["final_loss"] = float(curve[-1])
    return facts


def _versions(server: ServerInfo) -> dict[str, str]:
    found = {"heat_neo4j": __version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return {**found, "server": f"{server.version} {server.edition}"}
