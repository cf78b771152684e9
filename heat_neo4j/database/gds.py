"""Embeddings by Neo4j's Graph Data Science (GDS), where a server has it: what ours is compared with.

Each runs on exactly the `Graph` that is given, which may exist nowhere but in this process: it is sent to the
server as the parameters of one query and becomes a projection in the memory of GDS. All of it happens in
transactions in which the server refuses every write, and the projection is dropped again, also after an error
or Ctrl-C. A client that is killed outright, or interrupted again while it drops, leaves one behind:
``CALL gds.graph.list()`` shows it as ``heat-...``, and a restart of the server removes it.

GDS makes a projection by one statement, so its parameters limit the size. Counted from the formats, not
measured: an edge takes some 10 bytes on the way (19 with a weight) and 60 (90) of the server's heap until the
projection stands; an attribute value 9 and 30 in a dense matrix, and 15 and 120 in a sparse one, whose zeros
are not sent. GDS itself keeps attributes dense, at 8 bytes each.

On a cluster, connect by ``bolt://`` to the member that runs GDS: a projection is on one member only.
"""

import contextlib
import re
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j._utils.validation import check_integer
from heat_neo4j.database.connection import Connection, Parameters, Transaction
from heat_neo4j.database.server_errors import one_line
from heat_neo4j.database.statements import load_statement
from heat_neo4j.errors import HeatError, ProjectionError
from heat_neo4j.graph import Graph

Array = NDArray[np.float64]

_PROPERTY_RATIO = 0.5
_WALKS = {"iterations": 5, "walkLength": 80, "walksPerNode": 10}
_CAUSE = re.compile(r"Caused by: (?:[\w.$]+: )?(.+)", re.DOTALL)


def has_gds(connection: Connection) -> str | None:
    """Return the version of GDS on the server, such as ``"2.13.9"``; None if it is not installed."""
    doing = "looking for GDS"
    if not connection.read(load_statement("gds/installed"), doing=doing)[0]["installed"]:
        return None
    return str(connection.read(load_statement("gds/version"), doing=doing)[0]["version"])


def fastrp(connection: Connection, graph: Graph, n_components: int, seed: int, *, attributes: bool) -> Array:
    """Return the FastRP embedding of a graph, to be compared by the cosine.

    The defaults of GDS: iteration weights 0, 1, 1 and no self-influence. Weights count unless all are equal.
    With `attributes` half of each vector comes from them (``propertyRatio`` 0.5), as they are. A node without
    an edge is the zero vector (with attributes, in one half). The same seed gives the same bits. A
    ProjectionError if the server has no GDS, or GDS refuses, such as for want of memory.

    H. Chen et al., "Fast and Accurate Network Embeddings via Very Sparse Random Projection" (CIKM 2019).
    """
    configuration = _configuration(n_components, seed)
    if attributes:
        if graph.n_attributes == 0:
            raise ValueError("the graph has no attributes")
        configuration |= {"featureProperties": ["features"], "propertyRatio": _PROPERTY_RATIO}
    return _embed(connection, graph, "fastrp", configuration, attributes=attributes)


def node2vec(connection: Connection, graph: Graph, n_components: int, seed: int) -> Array:
    """Return the node2vec embedding of a graph, to be compared by the cosine or by Euclidean distance.

    10 walks of length 80 per node, as in HEAT, and 5 iterations where GDS has 1, which does clearly better;
    else the defaults of GDS: window 10, 5 negatives, in-out and return factor 1. Weights count unless all are
    equal; attributes do not. A node without an edge keeps the random vector that it started from. One thread
    of the server works on it, so that the same seed gives the same bits: with several, GDS gives other
    vectors every time. Errors are those of `fastrp`.

    A. Grover and J. Leskovec, "node2vec: Scalable Feature Learning for Networks" (KDD 2016).
    """
    configuration = _configuration(n_components, seed) | _WALKS | {"concurrency": 1}
    return _embed(connection, graph, "node2vec", configuration, attributes=False)


def _configuration(n_components: int, seed: int) -> dict[str, Any]:
    return {
        "embeddingDimension": check_integer("n_components", n_components, minimum=1),
        "randomSeed": check_integer("seed", seed, minimum=0),
    }


def _embed(
    connection: Connection,
    graph: Graph,
    algorithm: str,
    configuration: Mapping[str, Any],
    *,
    attributes: bool,
) -> Array:
    """Project `graph`, stream the vectors of an algorithm, and drop the projection whatever happens."""
    name = f"heat-{uuid.uuid4().hex}"
    doing = f"running {algorithm} of GDS on projection {name}"
    projection = {"name": name, **_edges(graph), **_features(graph if attributes else None)}
    if projection["weights"]:
        configuration = {**configuration, "relationshipWeightProperty": "weight"}
    call = {"name": name, "configuration": configuration}
    drop = load_statement("gds/drop")

    def work(transaction: Transaction) -> Array:
        transaction.run(drop, {"name": name})  # of an attempt that is repeated
        transaction.run(load_statement("gds/project"), projection)
        vectors = np.empty((graph.n_nodes, configuration["embeddingDimension"]))
        for record in transaction.stream(load_statement(f"gds/{algorithm}"), call):
            vectors[record["row"]] = record["embedding"]
        return vectors

    # In a thread of its own: Ctrl-C in the midst of an answer would leave the driver's connection unusable.
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(connection.read_transaction, work, doing=doing)
        try:
            return running.result()
        except (KeyboardInterrupt, SystemExit) as interrupt:
            with contextlib.suppress(HeatError):  # by a name of its own, lest it end itself
                connection.read(load_statement("gds/terminate"), {"doing": doing}, doing=f"ending: {doing}")
            ended = running.exception()
            raise interrupt from (None if ended is interrupt else ended)
        except ProjectionError as error:
            raise _explained(connection, algorithm, error) from error
        finally:
            wait([running])
            with contextlib.suppress(HeatError):  # no GDS, or no server any more: no projection either
                connection.read(drop, {"name": name}, doing=f"dropping projection {name}")


def _edges(graph: Graph) -> dict[str, Any]:
    """Return each edge once, as columns; weights only where they differ."""
    edges = graph.edges
    weighted = edges.nnz > 0 and edges.data.min() < edges.data.max()
    return {
        "n": graph.n_nodes,
        "sources": edges.row.tolist(),
        "targets": edges.col.tolist(),
        "weights": edges.data.tolist() if weighted else [],
    }


def _features(graph: Graph | None) -> Parameters:
    """Return attributes as one value per node: a list, or of sparse ones a map from column to value."""
    if graph is None or graph.attributes is None:
        return {"features": [], "columns": None}
    values = graph.attributes
    if isinstance(values, np.ndarray):
        return {"features": values.tolist(), "columns": None}
    names = [str(column) for column in range(graph.n_attributes)]
    rows = []
    for begin, end in zip(values.indptr[:-1], values.indptr[1:], strict=True):
        columns = values.indices[begin:end].tolist()
        rows.append({names[c]: x for c, x in zip(columns, values.data[begin:end].tolist(), strict=True)})
    return {"features": rows, "columns": names}


def _explained(connection: Connection, algorithm: str, error: ProjectionError) -> HeatError:
    """Return what GDS said as one line, with what to do where that is known."""
    message = one_line(error.__cause__ or error)
    cause = _CAUSE.search(message)
    reason = cause[1] if cause else message
    where = f"GDS at {connection.address}"
    if reason.startswith("There is no procedure"):
        return ProjectionError(f"{where} is not installed: {algorithm} needs its plugin")
    advice = ""
    if "memory" in reason.lower():
        advice = "; give the server more heap (server.memory.heap.max_size), or take fewer components"
    return ProjectionError(f"{where} refused {algorithm}: {reason}{advice}")
