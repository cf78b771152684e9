"""Checks that nothing that is tested reaches training."""

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.splits import EdgeSplit

_DEPTH = 5  # of the search for graphs: a method's closure, a function in it, its object, that object's fields


class LeakError(ValueError):
    """What is tested reached training; a figure would mean nothing."""


def check_split(split: EdgeSplit) -> None:
    """Check that no held-out edge is one of the training graph, in either direction; else a `LeakError`."""
    leaked = _count_edges(split.train, split.test_edges)
    if leaked:
        raise LeakError(f"{leaked} of {len(split.test_edges)} test edges are edges of the training graph")


def check_method(name: str, method: object, test_edges: NDArray[np.int64]) -> None:
    """Check that a method or a scorer holds no graph of its own that has test edges; else a `LeakError`.

    Looks at graphs that a function takes from around it, that are bound to it, or that an object holds. It
    finds a mistake, such as the whole graph in place of the training graph, not every trick.
    """
    for graph in _graphs_within(method, _DEPTH, set()):
        leaked = _count_edges(graph, test_edges)
        if leaked:
            raise LeakError(
                f"{name!r} holds {graph!r} with {leaked} of {len(test_edges)} test edges: "
                "it must use the graph that it is given"
            )


@contextmanager
def untouched(name: str, graph: Graph) -> Iterator[None]:
    """Check that `graph` has the same bits when the block ends as when it began; else a `LeakError`."""
    before = _fingerprint(graph)
    yield
    if _fingerprint(graph) != before:
        raise LeakError(f"{name!r} changed the training graph that it was given")


def _count_edges(graph: Graph, pairs: NDArray[np.int64]) -> int:
    """How many of the pairs are edges or relationships, in whichever direction they may still be there."""
    if not len(pairs) or int(pairs.max()) >= graph.n_nodes:
        return 0
    u, v = pairs[:, 0], pairs[:, 1]
    links = graph.adjacency
    there = (np.asarray(links[u, v]) != 0) | (np.asarray(links[v, u]) != 0)
    if graph.relationships is not None:
        ends = np.column_stack((graph.relationships.source, graph.relationships.target)).astype(np.int64)
        own, held_out = (np.sort(each, axis=1) @ (graph.n_nodes, 1) for each in (ends, pairs))
        there |= np.isin(held_out, own)
    return int(there.sum())


def _graphs_within(value: object, depth: int, visited: set[int]) -> Iterator[Graph]:
    if id(value) in visited:
        return
    visited.add(id(value))
    if isinstance(value, Graph):
        yield value
    elif depth > 0 and not inspect.ismodule(value) and not inspect.isclass(value):
        for part in _parts(value):
            yield from _graphs_within(part, depth - 1, visited)


def _parts(value: object) -> list[Any]:
    if inspect.ismethod(value):
        return [value.__self__, value.__func__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if inspect.isfunction(value):
        around = inspect.getclosurevars(value)
        graphs = [each for each in around.globals.values() if isinstance(each, Graph)]
        return [*around.nonlocals.values(), *graphs, *(value.__defaults__ or ())]
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value[:100])
    return list(getattr(value, "__dict__", {}).values())


def _fingerprint(graph: Graph) -> bytes:
    digest = sha256()
    for name, value in sorted(vars(graph).items()):
        digest.update(name.encode())
        for array in _arrays(value):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _arrays(value: Any) -> Iterator[NDArray[Any]]:
    if isinstance(value, sparse.csr_array):
        yield from (value.indptr, value.indices, value.data)
    elif isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict | Relationships):
        for part in (value if isinstance(value, dict) else vars(value)).values():
            yield from _arrays(part)
