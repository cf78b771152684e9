"""Hyperbolic embeddings of attributed graphs (HEAT), stored in Neo4j.

Names are imported when they are first used, so that importing the package (and ``heat --help``) is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heat_neo4j._utils.version import __version__

if TYPE_CHECKING:
    from heat_neo4j.classes.results import PredictedClasses, PredictedNumbers
    from heat_neo4j.client import Database, connect
    from heat_neo4j.clusters.result import Clusters
    from heat_neo4j.database.projection import Projection
    from heat_neo4j.database.runs import RunRecord
    from heat_neo4j.database.write.loader import LoadNames
    from heat_neo4j.duplicates.search import Duplicates
    from heat_neo4j.errors import HeatError
    from heat_neo4j.explore.neo4j_viz import to_neo4j_viz
    from heat_neo4j.graph import Graph
    from heat_neo4j.heat import HEAT
    from heat_neo4j.inputs.conversion import as_graph
    from heat_neo4j.linkpred.explanation import LinkExplanation
    from heat_neo4j.linkpred.link_score import LinkScore
    from heat_neo4j.linkpred.prediction import PredictedLinks
    from heat_neo4j.local_server.server import LocalServer
    from heat_neo4j.pipeline.job import LinkOptions

_HOMES = {
    "Clusters": "clusters.result",
    "Database": "client",
    "Duplicates": "duplicates.search",
    "HEAT": "heat",
    "Graph": "graph",
    "HeatError": "errors",
    "LinkOptions": "pipeline.job",
    "LoadNames": "database.write.loader",
    "LocalServer": "local_server.server",
    "LinkExplanation": "linkpred.explanation",
    "LinkScore": "linkpred.link_score",
    "PredictedClasses": "classes.results",
    "PredictedNumbers": "classes.results",
    "PredictedLinks": "linkpred.prediction",
    "Projection": "database.projection",
    "RunRecord": "database.runs",
    "as_graph": "inputs.conversion",
    "connect": "client",
    "to_neo4j_viz": "explore.neo4j_viz",
}

__all__ = [
    "HEAT",
    "Clusters",
    "Database",
    "Duplicates",
    "Graph",
    "HeatError",
    "LinkExplanation",
    "LinkOptions",
    "LinkScore",
    "LoadNames",
    "LocalServer",
    "PredictedClasses",
    "PredictedLinks",
    "PredictedNumbers",
    "Projection",
    "RunRecord",
    "__version__",
    "as_graph",
    "connect",
    "to_neo4j_viz",
]


# Not lazy_loader: mypy, which reads its stub, then fails on circular imports of the package.
def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
