"""Lists of numbers as vectors: how they are told from columns, projected, centred, and applied again."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._kernels.dense import project, random_signs
from heat_neo4j.attributes.kinds import RecipeError
from heat_neo4j.attributes.table import Attribute, Attributes, AttributeTable, described
from heat_neo4j.attributes.vectors import MOST, is_vector
from heat_neo4j.errors import ProjectionError
from tests.support import naive
from tests.support.encode import encode


def texts(n=60, width=384, seed=0):
    """Return rows like those of a language model: of few dimensions, around a common mean."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 6)) @ rng.normal(size=(6, width)) + rng.normal(size=width)


def table_of(values, chunks=None, name_of=None):
    table = AttributeTable([Attribute("e")], len(values), max_categories=10, name_of=name_of)
    for rows in chunks or [range(len(values))]:
        table.add(np.array(rows, dtype=np.int64), {"e": [values[i] for i in rows]})
    return table


def read(values, chunks=None) -> Attributes:
    return table_of(values, chunks).finish(np.arange(len(values)))


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def lists(matrix):
    return [row.tolist() for row in matrix]


def test_a_vector_is_one_attribute_of_centred_directions():
    values = texts(width=40)
    found = read(lists(values))
    assert found.matrix.dtype == np.float32
    assert len(found.recipe) == 1
    assert is_vector(found.recipe[0])
    np.testing.assert_allclose(found.matrix, naive.centred_directions(values), atol=1e-6)
    assert described(found.recipe[0]) == "vectors of 40 numbers"


def test_lengths_of_vectors_do_not_count():
    values = texts(width=40)
    longer = values * np.arange(1, 61)[:, None]
    np.testing.assert_allclose(read(lists(longer)).matrix, read(lists(values)).matrix, atol=1e-6)


def test_whole_numbers_are_vectors_too():
    values = np.random.default_rng(0).integers(-127, 128, (50, 64))
    found = read(lists(values))
    assert is_vector(found.recipe[0])
    np.testing.assert_allclose(found.matrix, naive.centred_directions(values), atol=1e-6)


def test_missing_and_empty_lists_and_lists_of_zeros_have_no_direction():
    values = lists(texts(width=40))
    values[3], values[5], values[7] = None, [], [0.0] * 40
    found = read(values)
    assert not found.matrix[[3, 5, 7]].any()
    others = [row for i, row in enumerate(values) if i not in (3, 5, 7)]
    centre = np.mean(naive.unit_rows(np.array([*others, [0.0] * 40])), axis=0)
    np.testing.assert_allclose(found.recipe[0]["centre"], centre, atol=1e-7)


@pytest.mark.parametrize("width", [300, 1536])
def test_wide_vectors_are_projected_and_keep_their_cosines(width):
    values = texts(200, width)
    found = read(lists(values))
    assert found.matrix.shape == (200, MOST)
    assert described(found.recipe[0]) == f"vectors of {width:,} numbers, projected to {MOST}"
    exact = cosines(naive.centred_directions(values))
    assert np.abs(cosines(found.matrix.astype(float)) - exact).max() < 6 / np.sqrt(MOST)
    assert np.corrcoef(cosines(found.matrix.astype(float)).ravel(), exact.ravel())[0, 1] > 0.98


def test_the_projection_is_a_product_with_signs_that_depend_on_their_place_alone():
    signs = random_signs(40, 24)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.1
    np.testing.assert_array_equal(random_signs(30, 20), signs[:30, :20])
    rows = np.random.default_rng(0).normal(size=(37, 40)).astype(np.float32)
    np.testing.assert_allclose(project(rows, signs), naive.projected(rows, signs), atol=1e-5)


@pytest.mark.parametrize("width", [40, 700])
def test_bits_do_not_depend_on_blocks_or_the_order_of_reading(width):
    values = lists(texts(width=width))
    values[9], values[10] = None, []
    values[11] = [1.0] + [0.0] * (width - 1)  # few numbers: kept as it is until another row is projected
    first = [11, 9, 10]
    order = np.random.default_rng(1).permutation(np.delete(np.arange(60), first)).tolist()
    at_once, in_chunks = read(values), read(values, [first[:2], first[2:], order[:7], order[7:]])
    np.testing.assert_array_equal(at_once.matrix, in_chunks.matrix)
    assert at_once.recipe == in_chunks.recipe


def test_short_lists_and_bags_of_words_stay_columns():
    short = read([[1.0, 2.5], [3.0, 4.0], None])
    assert short.names == ("e[0]", "e[1]", "e:missing")
    rng = np.random.default_rng(0)
    words = (rng.random((50, 2000)) < 0.02) * rng.integers(1, 4, (50, 2000))
    values = lists(words.astype(float))
    values[4] = None
    found = read(values, [range(20), range(20, 50)])
    assert sparse.issparse(found.matrix)
    dense = found.matrix.toarray()
    known = np.delete(words, 4, axis=0)
    np.testing.assert_array_equal(np.delete(dense[:, :-1], 4, axis=0), known)
    np.testing.assert_allclose(dense[4, :-1], known.mean(axis=0), rtol=1e-15)
    assert np.flatnonzero(dense[:, -1]).tolist() == [4]


def test_a_recipe_reads_new_vectors_as_it_read_the_old_ones():
    values = lists(texts(width=700))
    old = read(values)
    again = encode(old.recipe, {"e": values[:10]})
    np.testing.assert_array_equal(again, old.matrix[:10])
    with pytest.raises(RecipeError, match="lists of 384 numbers where its recipe has 700: fit it anew"):
        encode(old.recipe, {"e": lists(texts(width=384))})
    for damage in ({"centre": [0.0]}, {"width": 10}, {"width": "700"}):
        with pytest.raises(RecipeError, match="damaged"):
            encode([{**old.recipe[0], **damage}], {"e": values[:10]})


def test_a_recipe_of_columns_refuses_vectors():
    sparse_rows = np.eye(700)[:60]
    recipe = read(lists(sparse_rows)).recipe
    with pytest.raises(RecipeError, match="vectors where its recipe has single numbers"):
        encode(recipe, {"e": lists(texts(width=700))})


def test_several_lengths_are_counted_and_one_node_is_named():
    values = [*lists(texts(30, 384)), *lists(texts(4, 768)), [1.0], None, []]
    table = table_of(values, [range(20), range(20, 37)], name_of=lambda row: f"p{row}")
    with pytest.raises(ProjectionError) as raised:
        table.finish(np.arange(37))
    assert str(raised.value) == (
        "attribute 'e' has lists of several lengths: 384 numbers on 30 nodes and 768 on 4 and 1 on 1, first "
        "on node p30: give all nodes lists of one length, as one model makes them, or leave the attribute out"
    )


def test_values_beyond_float32_are_refused():
    values = lists(texts(width=40))
    values[2][5] = 1e30
    with pytest.raises(ProjectionError, match=r"NaN, infinite or too large \(1e\+30\) on node p2"):
        table_of(values, name_of=lambda row: f"p{row}")


def test_vectors_beside_other_attributes_and_of_one_label():
    values = texts(width=40)
    mask = np.arange(60) < 45
    attributes = [Attribute("e", "Paper"), Attribute("year")]
    table = AttributeTable(attributes, 60, max_categories=10, labels={"Paper": mask})
    table.add(np.arange(60), {"e": lists(values), "year": list(range(60))})
    found = table.finish(np.arange(60))
    np.testing.assert_allclose(found.matrix[:45, :40], naive.centred_directions(values[:45]), atol=1e-6)
    assert not found.matrix[45:, :40].any()
    assert found.names[0] == "Paper.e[0]"


def test_reading_holds_a_row_of_short_floats_for_each_node():
    n, width = 4_000, 1536
    block = lists(texts(200, width))
    read(block[:5])  # compiles
    tracemalloc.start()
    table = AttributeTable([Attribute("e")], n, max_categories=10)
    for begin in range(0, n, 200):
        table.add(np.arange(begin, begin + 200), {"e": block})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    signs, parts = 4 * width * MOST, 24 * width * 200
    assert 4 * n * MOST <= peak < 4 * n * MOST + signs + parts + 2**20
