"""Compile the kernels in advance; the first time on a machine this takes several seconds.

Numba compiles one function at a time per process. So two subprocesses fill the disk cache, half each, while
the main process reads the graph.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from heat_neo4j._kernels.buckets import train_bucket
from heat_neo4j._kernels.chains import choose, count_paths, have_chain, path_pairs, path_rows
from heat_neo4j._kernels.jit import compile_for
from heat_neo4j._kernels.pairs import list_negatives
from heat_neo4j._kernels.sweeps import nearest_absent
from heat_neo4j._kernels.training import train_batches
from heat_neo4j._kernels.walks import draw_block
from heat_neo4j._utils.progress import Progress
from heat_neo4j._utils.random import make_keys
from heat_neo4j._utils.threads import available_processors
from heat_neo4j.embedding.coarse_graph import coarsen
from heat_neo4j.embedding.pairs import collect_pairs
from heat_neo4j.embedding.placement import refine
from heat_neo4j.embedding.schedule import Schedule
from heat_neo4j.embedding.similarity import make_similarity
from heat_neo4j.embedding.training import start_points, train
from heat_neo4j.embedding.walks import make_walks
from heat_neo4j.geometry.search import nearest_neighbours
from heat_neo4j.graph import Graph

COMPILING = "compiling (only once)"  # progress stage, shown only if something is compiled
_LAST = (draw_block, list_negatives, train_batches, nearest_absent)  # the last kernels of both parts
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from heat_neo4j.embedding import compiling; "
)
_SCHEDULE = Schedule(1, 1, 1, 1.0, 0.1, 8, 1)
_processes: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class CompiledCode:
    """The on-disk cache of compiled code."""

    folder: Path | None  # None if no folder is writable
    is_there: bool  # whether all kernels that every run needs are compiled


def compiled_code() -> CompiledCode:
    """Return the location and state of the cache of compiled code."""
    folder = train_batches.stats.cache_path
    return CompiledCode(None if folder is None else Path(folder), _is_compiled())


def make_ready(on_progress: Progress, *, by_buckets: bool = False) -> bool:
    """Compile the kernels for training and link search if needed; return whether anything was compiled.

    The kernels for clustering and training by buckets, which large graphs need, are compiled only with
    `by_buckets`.
    """
    with_buckets = by_buckets and not _is_ready(train_bucket)
    if _is_compiled() and not with_buckets:
        return False
    on_progress(COMPILING, 0, 1)
    if not _is_compiled():
        begin_compiling()
        while _processes:
            _processes.pop().wait()
        _compile_all()
    if with_buckets:
        _compile_buckets()
    on_progress(COMPILING, 1, 1)
    return True


def begin_compiling() -> None:
    """Start compiling in subprocesses, if that helps; call this before reading a graph.

    `make_ready` compiles whatever they did not, for any reason.
    """
    has_cache = train_batches.stats.cache_path is not None
    if _processes or not has_cache or available_processors()[0] < 2 or not sys.executable or _is_compiled():
        return
    for part in _PARTS:
        program = f"{_PROGRAM}compiling.compile_part({part!r})"
        arguments = [sys.executable, "-c", program, json.dumps(sys.path)]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        try:
            _processes.append(subprocess.Popen(arguments, **quiet))  # type: ignore[call-overload]
        except OSError:
            return


def compile_part(part: str) -> None:
    """Compile one half of the kernels that every run needs: "walks" or "training"."""
    _PARTS[part]()


def _is_compiled() -> bool:
    """Return whether the last kernel of each part is compiled, in this process or in the cache."""
    return all(map(_is_ready, _LAST))


def _is_ready(kernel: Any) -> bool:
    return _is_cached(kernel) or bool(kernel.signatures)


def _is_cached(kernel: Any) -> bool:
    folder = kernel.stats.cache_path  # None without a cache
    module = kernel.py_func.__module__.rpartition(".")[2]
    return folder is not None and any(Path(folder).glob(f"{module}.{kernel.__name__}-*.nbi"))


@cache
def _compile_all() -> None:
    for compile_some in _PARTS.values():
        compile_some()


def _compile_walks() -> None:
    """Compile walks with both attribute samplers, pair collection, refinement and link selection."""
    ones, yes = np.ones(1, dtype=np.int64), np.ones(1, dtype=np.bool_)
    compile_for(choose, yes, ones[None, :], ones, ones, ones, yes, yes[None, None, :])
    short = ones.astype(np.int32)
    compile_for(have_chain, *(ones, short) * 2, ones, ones, 1)
    steps, weights = (ones, short, short), np.ones((1, 1))
    compile_for(count_paths, *steps, 1, yes, ones, ones, short, yes, 1)
    compile_for(path_pairs, *steps, short, yes, weights, ones, ones)
    compile_for(path_rows, *steps, yes, weights, ones)
    graph = _ring()
    for similarity in (make_similarity(graph), make_similarity(graph, table_limit=0)):
        keys = make_keys(0)
        walks = make_walks(graph, alpha=0.5, walk_length=4, key=keys.walks, similarity=similarity)
        collect_pairs(walks, walks_per_node=1, window_size=1, negative_exponent=0.5)
    refine(start_points(graph.n_nodes, 2, make_keys(0).start), graph)


def _compile_training() -> None:
    """Compile training in batches, and the nearest-pair search."""
    keys, n = make_keys(0), 8
    walks = make_walks(_ring(), alpha=0.0, walk_length=4, key=keys.walks)
    pairs = collect_pairs(walks, walks_per_node=1, window_size=1, negative_exponent=0.5)
    points = start_points(n, 2, keys.start)
    train(points, walks, pairs.negatives, _SCHEDULE, keys)
    nearest_neighbours(points, 1, n_threads=1)


@cache
def _compile_buckets() -> None:
    """Compile clustering and training by buckets on a small graph."""
    keys, n = make_keys(0), 20
    ring = _ring(n)
    walks = make_walks(ring, alpha=0.0, walk_length=4, key=keys.walks)
    list(coarsen(ring, walks, (2,), keys.order))
    pairs = collect_pairs(walks, walks_per_node=1, window_size=1, negative_exponent=0.5)
    train(start_points(n, 2, keys.start), walks, pairs.negatives, replace(_SCHEDULE, n_parts=2), keys)


_PARTS: dict[str, Callable[[], None]] = {"walks": _compile_walks, "training": _compile_training}


def _ring(n: int = 8) -> Graph:
    ring = sparse.csr_array(np.roll(np.eye(n), 1, axis=1))
    return Graph(adjacency=ring, attributes=np.arange(2.0 * n).reshape(n, 2) % 3)
