"""A small training finds how fast this machine is: all rates but the server's are scaled by one factor."""

from dataclasses import asdict

import pytest

from heat_neo4j.pipeline import estimate as machine_speed
from heat_neo4j.pipeline.estimate import RATES, rates_here

OF_THE_SERVER = {
    "read_nodes", "read_relationships", "read_values", "write_nodes", "write_links", "settle_node",
    "settle_link", "replace_node", "replace_link", "first_statements", "index_node", "index_coordinate",
}  # fmt: skip
SHARES = {
    "growth", "small", "second_thread", "second_bucket", "replace_index", "bucket_portion", "bucket_growth",
}  # fmt: skip


class Trained:
    """An estimator whose trainings take given seconds."""

    took = ()

    def __init__(self, **parameters):
        self._seconds = iter(self.took)

    def fit(self, graph):
        self.training_ = {"seconds": {"similarity": 9.0, "walks": 0.0, "train": next(self._seconds)}}
        return self


def factors(rates):
    return {name: value / getattr(RATES, name) for name, value in asdict(rates).items()}


def test_the_machine_is_as_fast_as_its_trainings_in_the_median(monkeypatch):
    expected = []
    for took in ((9.0, 2.0, 2.0, 2.0), (9.0, 4.0, 50.0, 1.0)):
        monkeypatch.setattr(Trained, "took", took)
        monkeypatch.setattr(machine_speed, "Embedder", Trained)
        scaled = factors(rates_here(1))
        assert {name for name, factor in scaled.items() if factor == 1.0} == OF_THE_SERVER | SHARES
        own = [scaled[name] for name in scaled.keys() - OF_THE_SERVER - SHARES]
        assert own == [pytest.approx(own[0])] * len(own)
        expected.append(own[0])
    assert expected[1] == pytest.approx(2 * expected[0])


def test_this_machine_has_a_speed():
    assert 0.01 < factors(rates_here(1))["candidate"] < 100
