"""A gate to the server that returns everything in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator

import neo4j

from heat_neo4j.database.connection import Transaction

# Lists of one record that belong together, item by item.
_ALIGNED = (("numbers", "degrees"), ("sources", "targets", "weights", "seconds", "others", "factors"))


def shuffling_transaction(seed: int) -> type[Transaction]:
    """Return a class for `Connection.transaction` whose answers come in an order drawn by `seed`."""
    return type("Shuffling", (_Shuffling,), {"draw": random.Random(seed)})


class _Shuffling(Transaction):
    draw: random.Random

    def run(self, statement, parameters=None) -> neo4j.EagerResult:
        answer = Transaction.stream(self, statement, parameters).to_eager_result()
        return answer._replace(records=self._shuffled(answer.records))

    def stream(self, statement, parameters=None) -> Iterator:
        return iter(self._shuffled(list(Transaction.stream(self, statement, parameters))))

    def _shuffled(self, records):
        rows = [self._shuffled_within(dict(record.items())) for record in records]
        self.draw.shuffle(rows)
        return rows

    def _shuffled_within(self, row):
        for keys in _ALIGNED:
            if keys[0] in row:
                places = self._places(row[keys[0]])
                row |= {key: [row[key][i] for i in places] for key in keys if key in row}
        if "positions" in row:
            places = self._places(row["positions"])
            row["positions"] = [row["positions"][i] for i in places]
            row["columns"] = [[column[i] for i in places] for column in row["columns"]]
        return row

    def _places(self, items):
        return self.draw.sample(range(len(items)), len(items))
