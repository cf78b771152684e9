"""Attribute columns by a recipe, as a projection makes them in several steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heat_neo4j.attributes.kinds import Block, Recipe
from heat_neo4j.attributes.table import AttributeTable, attributes_of


def encode(
    recipe: Sequence[Recipe],
    values: Mapping[str, Sequence[Any]],
    labels: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Block:
    """Return attribute columns, shape (n, F), for nodes by a recipe learned on others.

    `values` holds, for each property of the recipe, one raw value or None per node; `labels` holds a mask for
    each of its labels.
    """
    rows = np.arange(len(next(iter(values.values()), ())))
    table = AttributeTable(attributes_of(recipe), rows.size, max_categories=1, labels=labels)
    table.add(rows, values)
    return table.apply(recipe, rows).matrix
