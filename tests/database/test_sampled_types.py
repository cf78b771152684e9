"""Which relationship types are sampled by one statement."""

from heat_neo4j.database.read.counts import _sampled_together


def test_a_thousand_rare_types_are_sampled_by_one_statement():
    counts = {f"T{number}": 1 for number in range(1000)}
    assert _sampled_together(counts) == [list(counts)]


def test_types_of_many_relationships_have_a_statement_of_their_own():
    groups = _sampled_together({"A": 10**6, "B": 3, "C": 9_990, "D": 2 * 10**6, "E": 9})
    assert groups == [["B", "E"], ["C"], ["A"], ["D"]]
    assert _sampled_together({}) == []
