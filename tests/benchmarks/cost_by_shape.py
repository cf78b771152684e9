"""Graphs whose cost is in their shape: rare relationship types, thousands of labels, long vectors.

::

    python -m tests.benchmarks.cost_by_shape [--rare-types 1000] [--labels 5000] [--nodes 800 1600]
        [--numbers 1536 384]

Prints CPU seconds of one thread and peak memory of training, of the fitted score and of predicted links,
beside what `heat estimate` expects. Each graph is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse

from heat_neo4j import HEAT, Graph
from heat_neo4j._utils.display import format_bytes
from heat_neo4j.attributes.kinds import is_text
from heat_neo4j.attributes.table import Attribute, AttributeTable
from heat_neo4j.embedding.compiling import make_ready
from heat_neo4j.graph import Provenance, Relationships
from heat_neo4j.linkpred.calibration import CalibrationError
from heat_neo4j.linkpred.candidates import counted_patterns, ends_of
from heat_neo4j.linkpred.link_score import fit_link_score
from heat_neo4j.linkpred.prediction import predict_links
from heat_neo4j.patterns import link_limits
from heat_neo4j.pipeline.estimate import estimate
from heat_neo4j.pipeline.memory import LinkEnds, RunSize

__all__ = ["main", "make_labels", "make_types", "make_vectors", "size_of"]


def make_types(n_rare: int) -> Graph:
    """Return a knowledge graph of 451 nodes: chunks of a document, entities, and types that are used once."""
    rng = np.random.default_rng(4)
    entity, chunk = np.arange(400), np.arange(400, 450)
    pairs = {
        "FROM_CHUNK": (entity, chunk[entity % 50]),
        "NEXT_CHUNK": (chunk[:-1], chunk[1:]),
        "FROM_DOCUMENT": (chunk, np.full(50, 450)),
        "WORKS WITH": tuple(rng.integers(0, 400, (2, 600))),
    }
    pairs |= {f"is related to thing no. {i}": tuple(rng.integers(0, 400, (2, 1))) for i in range(n_rare)}
    rows = np.arange(451)
    labels = {"Entity": rows < 400, "Chunk": (rows >= 400) & (rows < 450), "Document": rows == 450}
    return _graph(451, pairs, labels=labels)


def make_labels(n_labels: int) -> Graph:
    """Return nodes with a label each and 20,000 relationships of 1,000 types: most patterns occur once."""
    ends = np.random.default_rng(0).integers(0, n_labels, (2, 20_000))
    pairs = {f"T{kind}": tuple(ends[:, kind::1000]) for kind in range(1000)}
    rows = np.arange(n_labels)
    return _graph(n_labels, pairs, labels={f"L{row}": rows == row for row in range(n_labels)})


def make_vectors(n_nodes: int, n_numbers: int) -> Graph:
    """Return nodes of twelve groups with a vector of numbers each, and two relationships from each node."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 12, n_nodes)
    vectors = rng.normal(size=(12, n_numbers))[group] + rng.normal(size=(n_nodes, n_numbers))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    by_group = np.argsort(group, kind="stable")
    source = np.repeat(np.arange(n_nodes), 2)
    near = by_group[
        np.searchsorted(group[by_group], group[source], side="left") + rng.integers(0, 20, len(source))
    ]
    target = np.where(rng.random(len(source)) < 0.7, near, rng.integers(0, n_nodes, len(source)))
    labels = {"Entity": np.ones(n_nodes, dtype=np.bool_)}
    table = AttributeTable([Attribute("vector")], n_nodes, max_categories=1)
    table.add(np.arange(n_nodes), {"vector": vectors.tolist()})
    found = table.finish(np.arange(n_nodes))
    graph = _graph(n_nodes, {"RELATES_TO": (source, target)}, labels=labels)
    return replace(
        graph,
        attributes=found.matrix,
        attribute_names=found.names,
        provenance=Provenance(attribute_recipe=found.recipe),
    )


def make_texts(n_nodes: int) -> Graph:
    """Return nodes of twelve groups with a text of about 30 words each, and four relationships from each."""
    rng = np.random.default_rng(0)
    group, words = rng.integers(0, 12, n_nodes), rng.zipf(1.3, (n_nodes, 40)) % 30_000
    words[:, ::2] += 30_000 * (1 + group[:, None])
    texts = [" ".join(f"w{word}" for word in row) for row in words.tolist()]
    source = np.repeat(np.arange(n_nodes), 4)
    by_group = np.argsort(group, kind="stable")
    place = np.searchsorted(group[by_group], group[source]) + rng.integers(0, n_nodes // 20, len(source))
    target = by_group[place]
    differ = source != target
    table = AttributeTable([Attribute("text", text=True)], n_nodes, max_categories=1)
    table.add(np.arange(n_nodes), {"text": texts})
    found = table.finish(np.arange(n_nodes))
    graph = _graph(n_nodes, {"RELATES_TO": (source[differ], target[differ])}, labels={})
    return replace(
        graph, attributes=found.matrix, attribute_names=found.names,
        provenance=Provenance(attribute_recipe=found.recipe),
    )  # fmt: skip


SHAPES: dict[str, Callable[..., Graph]] = {
    "types": make_types,
    "labels": make_labels,
    "vectors": make_vectors,
    "texts": make_texts,
}


def _graph(n: int, pairs: dict[str, Any], attributes: Any = None, labels: Any = None) -> Graph:
    source, target = (np.concatenate(ends) for ends in zip(*pairs.values(), strict=True))
    adjacency = sparse.csr_array((np.ones(len(source)), (source, target)), shape=(n, n))
    return Graph(adjacency, attributes, labels=labels, relationships=Relationships.from_pairs(pairs))


def size_of(graph: Graph) -> RunSize:
    """Return the size of a run of the graph with the defaults, on one thread."""
    patterns, _ = counted_patterns(graph)
    assert graph.relationships is not None
    ends = []
    for (pattern, most), limit in zip(patterns.items(), link_limits(10, patterns), strict=True):
        sources, targets = (int(each.sum()) for each in ends_of(graph, pattern))
        ends.append(LinkEnds(sources, targets, limit, most))
    has_text = any(map(is_text, graph.provenance.attribute_recipe))
    attributes: Any = graph.attributes
    filled = attributes.nnz / graph.n_nodes if has_text else 0.0
    return RunSize(
        graph.n_nodes,
        len(graph.relationships),
        attribute_columns=graph.n_attributes * has_text,
        attribute_share=filled / max(graph.n_attributes, 1),
        vector_columns=graph.n_attributes * (not has_text),
        vector_width=sum(entry.get("width", 0) for entry in graph.provenance.attribute_recipe),
        texts=int(has_text),
        patterns=ends,
    )


def measure(graph: Graph) -> dict[str, dict[str, float]]:
    """Return CPU seconds and peak bytes up to the end of each stage, beside what is expected of it."""
    make_ready(lambda *_: None)
    found: dict[str, dict[str, float]] = {}
    began = process_time()

    def lap(stage: str) -> None:
        nonlocal began
        # ru_maxrss would be at least that of the process that started this one.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        peak = 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]
        found[stage] = {"s": process_time() - began, "peak": peak}
        began = process_time()

    model = HEAT(random_state=0, n_threads=1).fit(graph)
    lap("train")
    try:
        score = fit_link_score(model, graph)
    except CalibrationError:  # every pattern is rare
        score = None
    lap("calibrate")
    links = predict_links(model, graph, score=score, n_threads=1)
    lap("links")
    expected = estimate(
        size_of(graph), HEAT(random_state=0, n_threads=1), graph
    )  # last: its pilot takes memory, too
    seconds = dict(expected.seconds)
    seconds["train"] += seconds.pop("walks") + seconds.pop("coarse", 0.0)
    highest = 0
    for stage, figures in found.items():
        highest = max(highest, expected.memory.get(stage, 0))
        figures |= {"expected s": seconds.get(stage, 0.0), "expected peak": highest}
    found["links"] |= {"count": len(links.source), "expected count": expected.links}
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each graph and stage."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.cost_by_shape", description=__doc__)
    parser.add_argument("--rare-types", type=int, default=1000)
    parser.add_argument("--labels", type=int, default=5000)
    parser.add_argument("--nodes", type=int, nargs="*", default=[800, 1600])
    parser.add_argument("--numbers", type=int, nargs="*", default=[1536, 384])
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        kind, *sizes = options.one
        print(json.dumps(measure(SHAPES[kind](*map(int, sizes)))))
        return 0
    vectors = zip(options.nodes, options.numbers, strict=True)
    shapes = [
        (f"{options.rare_types:,} rare types", "types", options.rare_types),
        (f"{options.labels:,} labels", "labels", options.labels),
        *(("{:,} vectors of {:,}".format(*shape), "vectors", *shape) for shape in vectors),
    ]
    for name, *shape in shapes:
        command = [sys.executable, "-m", __spec__.name, "--one", *map(str, shape)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for stage, row in found.items():
            peaks = (format_bytes(row[key]) for key in ("peak", "expected peak"))
            cells = f"{row['s']:7.1f} s (expected {row['expected s']:.1f}), peak {{}} (expected {{}})"
            print(f"{name:24} {stage:10}", cells.format(*peaks), *_count(row))
    return 0


def _count(row: dict[str, float]) -> list[str]:
    return [f"{row['count']:,} links (at most {row['expected count']:,})"] if "count" in row else []


if __name__ == "__main__":
    sys.exit(main())
