"""The graphs that the client of Neo4j's Graph Data Science brings: Cora, IMDB and LastFM.

Cora: A. McCallum et al. (2000). IMDB: S. Yun et al., "Graph Transformer Networks" (NeurIPS 2019). LastFM:
I. Cantador et al., HetRec 2011.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from heat_neo4j.attributes.table import Attributes
from tests.benchmarks.shelf.dataset import (
    DataSet,
    Pairs,
    held_out_at_random,
    linked,
    truth_by_pattern,
    wheel_member,
)

__all__ = ["cora", "imdb", "lastfm"]


def cora(seed: int) -> DataSet:
    """Return Paper-CITES->Paper, with words."""
    papers = _table("cora", "cora_nodes")
    return _data_set({"Paper": papers}, [_table("cora", "cora_rels")], seed, papers["features"])


def imdb(seed: int) -> DataSet:
    """Return who acted in and directed movies, with keywords of movies.

    Those of persons are sums over all their movies, held-out ones too, and are left out.
    """
    columns = ["nodeId", "plot_keywords"]
    movies = [_table("imdb", f"imdb_movies_{name}_genre").select(columns) for name in ("with", "without")]
    tables = {
        "Movie": pl.concat(movies).sort("nodeId"),
        "Director": _table("imdb", "imdb_directors"),
        "Actor": _table("imdb", "imdb_actors"),
    }
    links = [_table("imdb", f"imdb_{name}_in") for name in ("acted", "directed")]
    return _data_set(tables, links, seed, tables["Movie"]["plot_keywords"])


def lastfm(seed: int) -> DataSet:
    """Return users that listen to and tag artists, and their friends."""
    tables = {"User": _table("lastfm", "user_nodes"), "Artist": _table("lastfm", "artist_nodes")}
    names = ("user_friend_df_directed", "user_listen_artist_rels", "user_tag_artist_rels")
    return _data_set(tables, [_table("lastfm", name) for name in names], seed)


def _data_set(
    tables: Mapping[str, pl.DataFrame], links: Sequence[pl.DataFrame], seed: int, of_first: Any = ()
) -> DataSet:
    """Return the graph of nodes by label and of relationships, without a random 15 % of these.

    `of_first` are numbers for each node of the first label.
    """
    ids = np.concatenate([table["nodeId"].to_numpy() for table in tables.values()])
    row_of = {key: row for row, key in enumerate(ids.tolist())}
    n, starts = len(ids), np.cumsum([0, *map(len, tables.values())]).tolist()
    rows = np.arange(n)
    labels = {
        label: (rows >= begin) & (rows < end)
        for label, (begin, end) in zip(tables, pairwise(starts), strict=True)
    }
    triples: dict[str, Pairs] = {}
    for table in links:
        ends = [[row_of[key] for key in table[f"{end}NodeId"]] for end in ("source", "target")]
        triples[table["relationshipType"][0]] = np.unique(np.column_stack(ends).astype(np.int64), axis=0)
    train, test = held_out_at_random(triples, n, seed)
    attributes = None
    if len(of_first):
        own = sparse.csr_array(np.array(of_first.to_list(), dtype=np.float64))
        rest = sparse.csr_array((n - own.shape[0], own.shape[1]))
        attributes = Attributes(sparse.vstack((own, rest), format="csr"), (), ())
    graph = linked(n, train, labels=labels, keys=ids.tolist(), attributes=attributes)
    return DataSet(graph, truth_by_pattern(graph, test))


def _table(folder: str, name: str) -> pl.DataFrame:
    member = f"graphdatascience/resources/{folder}/{name}.parquet.gzip"
    return pl.read_parquet(io.BytesIO(wheel_member("graphdatascience", member)))
