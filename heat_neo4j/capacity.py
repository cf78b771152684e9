"""Whether a run fits: what it would need, from counts alone, against what it may use."""

from __future__ import annotations

from dataclasses import replace

from heat_neo4j._display import format_bytes
from heat_neo4j._link_search import first_partners
from heat_neo4j._publishing import LinkOptions
from heat_neo4j._team import resolve_threads
from heat_neo4j.database import Neo4jStore, Projection
from heat_neo4j.errors import MemoryExceeded
from heat_neo4j.estimates import PROGRAM, RunSize, estimate
from heat_neo4j.estimator import HEAT

__all__ = ["check_memory", "run_size"]

_ADVICE = {
    "read": "a projection of fewer nodes, relationships or attributes",
    "train": "a projection of fewer nodes or attributes, or lower --n-components",
    "calibrate": "--no-probability",
    "links": "lower --k, or --no-links",
    "write": "lower --k, or --no-links",
}
_ADVICE_COMBINED = dict.fromkeys(("calibrate", "links"), "--score distance, or --no-links")


def run_size(store: Neo4jStore, projection: Projection, model: HEAT, links: LinkOptions | None) -> RunSize:
    """Return what decides the cost of a run; only counts are asked of the database.

    Parameters
    ----------
    store : Neo4jStore
        The database.
    projection : Projection
        What the run reads.
    model : HEAT
        The estimator, fitted or not.
    links : LinkOptions, optional
        Which links are predicted; None for none.

    Raises
    ------
    ProjectionError, ConnectionFailed
        As for `Neo4jStore.count`.
    """
    counts = store.count(projection)
    parameters = {name: value for name, value in model.get_params().items() if hasattr(RunSize, name)}
    return RunSize(
        nodes=counts.nodes,
        relationships=counts.relationships,
        attribute_columns=counts.attribute_columns,
        attribute_share=counts.attribute_share,
        isolated_share=counts.isolated / counts.nodes,
        hub_share=counts.hub_share,
        threads=resolve_threads(model.n_threads),
        links_per_node=_partners(links, counts.nodes),
        linked_nodes=None if links is None else _linked_nodes(store, projection, links),
        top=None if links is None else links.top,
        probability=links is not None and links.probability,
        combined=links is not None and links.score == "combined",
        **parameters,
    )


def _partners(links: LinkOptions | None, nodes: int) -> int:
    if links is None:
        return 0
    return links.k or first_partners(links.top or 0, max(nodes, 1))


def _linked_nodes(store: Neo4jStore, projection: Projection, links: LinkOptions) -> int | None:
    """Return how many nodes carry a label that the ends of links must have; None if any will do."""
    if links.source_label is None or links.target_label is None:
        return None
    labels = list(dict.fromkeys((links.source_label, links.target_label)))
    plain = replace(projection, labels=labels, attributes=(), text=(), label_attributes={})
    return store.count(plain).nodes


def check_memory(size: RunSize, limit: int) -> None:
    """Refuse a run that would need more memory than it may use.

    Parameters
    ----------
    size : RunSize
        The run.
    limit : int
        Bytes that this process may use.

    Raises
    ------
    MemoryExceeded
        With the numbers, and what to change.
    """
    needed = estimate(size)
    if needed.peak_memory <= limit:
        return
    if limit <= PROGRAM:
        raise MemoryExceeded(
            f"the program alone takes about {format_bytes(PROGRAM)} of memory, and may use "
            f"{format_bytes(limit)}: raise --memory-limit to {format_bytes(needed.peak_memory)}; "
            "nothing was begun"
        )
    stage = max(needed.memory, key=needed.memory.__getitem__)
    advice = (_ADVICE | _ADVICE_COMBINED if size.combined else _ADVICE)[stage]
    raise MemoryExceeded(
        f"the run would need about {format_bytes(needed.peak_memory)} of memory (to {stage}), and may use "
        f"{format_bytes(limit)}: choose {advice}, or raise --memory-limit; nothing was begun"
    )
