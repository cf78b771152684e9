"""`Neo4jStore`: a connection whose methods read and write for other packages."""

from collections.abc import Sequence
from typing import Any, Unpack

from heat_neo4j.database.connection import Connection
from heat_neo4j.database.index.nearest import find_neighbours
from heat_neo4j.database.index.search import search_nodes
from heat_neo4j.database.publish.inspection import inspect_server
from heat_neo4j.database.publish.publication import write_lease
from heat_neo4j.database.publish.removal import clear, prune
from heat_neo4j.database.publish.writer import Run, WriteOptions
from heat_neo4j.database.published_nodes import read_node_links
from heat_neo4j.database.read.advice import key_advice, time_advice
from heat_neo4j.database.read.checking import check_projection
from heat_neo4j.database.read.counts import count_projection, full_sources, sample_schema
from heat_neo4j.database.read.node_lookup import find_published_node
from heat_neo4j.database.read.published import (
    covers,
    read_embedding,
    read_kept,
    read_links,
    read_stored,
    read_values,
)
from heat_neo4j.database.read.queries import copy_query, run_query
from heat_neo4j.database.read.reader import read_graph, read_properties_of, read_property
from heat_neo4j.database.runs import (
    EMBEDDING,
    Bookkeeping,
    read_bookkeeping,
    read_published_run,
    read_required_run,
    read_runs,
)
from heat_neo4j.database.write.loader import load_graph
from heat_neo4j.graph import Graph


class Neo4jStore(Connection):
    """One database of a Neo4j server, as the rooms above use it; users call `heat_neo4j.Database`.

    Each method is a function of a `Connection`, which documents it.
    """

    doctor = inspect_server
    query = run_query
    copy_query = copy_query

    read_graph = read_graph
    read_property = read_property
    properties_of = read_properties_of
    check = check_projection
    key_advice = key_advice
    time_advice = time_advice
    count = count_projection
    sample_schema = sample_schema
    full_sources = full_sources
    load_graph = load_graph

    neighbours = find_neighbours
    search = search_nodes
    links_of = read_node_links
    find_node = find_published_node
    read_embedding = read_embedding
    covers = covers
    read_stored = read_stored
    read_kept = read_kept
    read_links = read_links
    read_values = read_values

    runs = read_runs
    published_run = read_published_run
    required_run = read_required_run
    prune = prune
    clear = clear
    lease = write_lease

    def bookkeeping(self) -> Bookkeeping:
        """Return what is published of each model, and all runs, as one transaction saw them."""
        return read_bookkeeping(self, history=True)

    def start_run(
        self, graph: Graph, *, parts: Sequence[str] = (EMBEDDING,), **options: Unpack[WriteOptions]
    ) -> Run:
        """Return a run to write into, for coordinates and links that are to be published together.

        The parameters are those of `Run`. Use it as a context manager and end with its `publish`::

            with store.start_run(graph, parts=["embedding", "links"]) as run:
                run.write_embedding(model)
                run.write_links(links)
                record = run.publish()
        """
        return Run(self, graph, parts=parts, **options)


def store_of(database: Any) -> Any:
    """Return the store of a `heat_neo4j.Database`; anything else as it is."""
    return getattr(database, "_store", database)
