"""Hyperbolic embeddings of attributed graphs (HEAT), living in Neo4j.

Names are imported when they are first used, so that importing the package (and ``heat --help``) is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heat_neo4j.database import Neo4jStore, Projection, RunRecord, WriteNames
    from heat_neo4j.errors import HeatError
    from heat_neo4j.estimator import HEAT
    from heat_neo4j.graph import Graph
    from heat_neo4j.links import (
        LinkProbability,
        LinkScore,
        PredictedLinks,
        fit_link_probability,
        fit_link_score,
        predict_links,
    )
    from heat_neo4j.local_server import LocalServer
    from heat_neo4j.tuning import choose_parameters

__version__ = "0.1.0"

_HOMES = {
    "HEAT": "estimator",
    "Graph": "graph",
    "HeatError": "errors",
    "LinkProbability": "links",
    "LinkScore": "links",
    "LocalServer": "local_server",
    "Neo4jStore": "database",
    "PredictedLinks": "links",
    "Projection": "database",
    "RunRecord": "database",
    "WriteNames": "database",
    "choose_parameters": "tuning",
    "fit_link_probability": "links",
    "fit_link_score": "links",
    "predict_links": "links",
}

__all__ = [
    "HEAT",
    "Graph",
    "HeatError",
    "LinkProbability",
    "LinkScore",
    "LocalServer",
    "Neo4jStore",
    "PredictedLinks",
    "Projection",
    "RunRecord",
    "WriteNames",
    "__version__",
    "choose_parameters",
    "fit_link_probability",
    "fit_link_score",
    "predict_links",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
