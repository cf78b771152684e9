"""The three graphs of the HEAT authors, read from files that are not shipped with the project.

They are looked for in the folder that ``HEAT_DATASETS`` names, else in ``../shared/datasets``.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from heat_neo4j.graph import Graph
from heat_neo4j.inputs.files import FileGraph, read_graph_files

__all__ = ["DATASETS", "dataset_folder", "load_files", "load_graph"]

DATASETS = ("cora_ml", "citeseer", "ppi")


def dataset_folder() -> Path:
    """Return the folder that holds one folder per dataset; it may not exist."""
    default = Path(__file__).resolve().parents[3] / "shared" / "datasets"
    return Path(os.environ.get("HEAT_DATASETS", default))


@cache
def load_files(name: str) -> FileGraph:
    """Return a dataset's edges and attributes, as files describe them; nodes by integer key."""
    folder = dataset_folder() / name
    return read_graph_files(folder / "edgelist.tsv.gz", folder / "feats.csv.gz")


@cache
def load_graph(name: str) -> Graph:
    """Return a dataset as HEAT's input: row u is node u, self-relationships dropped."""
    files = load_files(name)
    if list(files.keys) != list(range(len(files.keys))):
        raise ValueError(f"{name}: the nodes are not numbered from 0")
    return files.to_graph()
