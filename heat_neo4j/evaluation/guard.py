"""Nothing that is tested may reach training: the checks that every run makes of itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from heat_neo4j.graph import Graph
from heat_neo4j.linkpred.splits import EdgeSplit

__all__ = ["LeakError", "check_method", "check_split", "untouched"]

_DEPTH = 3  # how far from a method a graph is looked for: its closure, an object in it, that object's fields


class LeakError(ValueError):
    """What is tested reached training; a figure would mean nothing."""


def check_split(split: EdgeSplit) -> None:
    """Check that no held-out edge is an edge of the training graph, in either direction.

    Raises
    ------
    LeakError
        If one is.
    """
    leaked = _count_edges(split.train, split.test_edges)
    if leaked:
        raise LeakError(f"{leaked} of {len(split.test_edges)} test edges are edges of the training graph")


def check_method(name: str, method: object, test_edges: NDArray[np.int64]) -> None:
    """Check that a method or a scorer holds no graph of its own that has test edges.

    Looks at graphs that a function takes from around it, that are bound to it, or that an object holds. It
    finds the slip of the pen, the whole graph in place of the one that was given, not every trick.

    Parameters
    ----------
    name : str
        For the message.
    method : object
        A function, a bound one, or any object.
    test_edges : int64 array of shape (m, 2)
        Held-out edges.

    Raises
    ------
    LeakError
        If a graph within reach has one of them.
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
    """Check that `graph` has the same bits when the block ends as when it began.

    Raises
    ------
    LeakError
        If not; `name` says who had it.
    """
    before = _fingerprint(graph)
    yield
    if _fingerprint(graph) != before:
        raise LeakError(f"{name!r} changed the training graph that it was given")


def _count_edges(graph: Graph, pairs: NDArray[np.int64]) -> int:
    """How many of the pairs are edges, in whichever direction an altered matrix may still have them."""
    if not len(pairs) or int(pairs.max()) >= graph.n_nodes:
        return 0
    u, v = pairs[:, 0], pairs[:, 1]
    links = graph.adjacency
    return int(((np.asarray(links[u, v]) != 0) | (np.asarray(links[v, u]) != 0)).sum())


def _graphs_within(thing: object, depth: int, met: set[int]) -> Iterator[Graph]:
    if id(thing) in met:
        return
    met.add(id(thing))
    if isinstance(thing, Graph):
        yield thing
    elif depth > 0 and not inspect.ismodule(thing) and not inspect.isclass(thing):
        for part in _parts(thing):
            yield from _graphs_within(part, depth - 1, met)


def _parts(thing: object) -> list[Any]:
    if inspect.ismethod(thing):
        return [thing.__self__, thing.__func__]
    if isinstance(thing, functools.partial):
        return [thing.func, *thing.args, *thing.keywords.values()]
    if inspect.isfunction(thing):
        around = inspect.getclosurevars(thing)
        globals_ = [value for value in around.globals.values() if isinstance(value, Graph)]
        return [*around.nonlocals.values(), *globals_, *(thing.__defaults__ or ())]
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, list | tuple):
        return list(thing[:100])
    return list(getattr(thing, "__dict__", {}).values())


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
    elif isinstance(value, dict):
        for part in value.values():
            yield from _arrays(part)
