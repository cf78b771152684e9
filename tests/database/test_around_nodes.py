"""Nearest nodes on one side, what lies between two, and the links of nodes: what slow Python finds."""

import pytest

from heat_neo4j.errors import ProjectionError
from tests.support.retrieval_toy import HOSTILE, published_toy

# The tests of the retrievers and of `heat mcp` look at the same answers each time.
pytestmark = [pytest.mark.live, pytest.mark.vector_index, pytest.mark.slow]


@pytest.fixture(scope="module")
def toy(server):
    with published_toy(server, 60) as made:
        yield made


@pytest.mark.parametrize("exact", [False, True])
def test_more_general_and_more_specific_nodes(store, toy, exact):
    order = sorted(range(len(toy.keys)), key=toy.radius)
    for i in (order[0], order[1], order[30], order[-1]):
        for among, side in (("more_general", -1), ("more_specific", 1)):
            answer = store.neighbours(toy.keys[i], model=toy.model, k=7, exact=exact, among=among)
            expected = toy.beyond(toy.keys[i], 7, side)
            assert [each.properties["key"] for each in answer.nodes] == expected
            # The index gives seven if there are seven, and nothing certifies them.
            assert answer.certified == (exact or len(expected) < 7)
            fewer = store.neighbours(
                toy.keys[i], model=toy.model, exact=exact, among=among, node_filter="n.i % 3 = 0"
            )
            expected = toy.beyond(toy.keys[i], 10, side, lambda j: j % 3 == 0)
            assert [each.properties["key"] for each in fewer.nodes] == expected
    with pytest.raises(ValueError, match="among must be one of all, more_general, more_specific"):
        store.neighbours("p9", model=toy.model, among="nearer")


def test_links_of_nodes(store, toy):
    keys = ["p9", "p50", HOSTILE[1]]
    ids = [store.find_node(key, model=toy.model) for key in keys]
    gone = "4:00000000-0000-0000-0000-000000000000:1"
    found = store.links_of([*ids, gone], k=3, model=toy.model)
    assert found[gone] == ()
    for key, identity in zip(keys, ids, strict=True):
        expected = sorted(toy.linked(key), key=lambda link: -link[2])[:3]
        assert [(each.name, each.leaves, each.probability) for each in found[identity]] == [
            (toy.shown(name), *rest) for name, *rest in expected
        ]
        assert {each.type for each in found[identity]} == {toy.cites}
        assert [each.rank for each in found[identity]] == sorted(each.rank for each in found[identity])
    with pytest.raises(ProjectionError, match="'nothing' has no published coordinates"):
        store.links_of(ids, model="nothing")
