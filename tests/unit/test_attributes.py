from __future__ import annotations

import json
import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j.attributes import AttributeTable, encode
from heat_neo4j.errors import ProjectionError
from tests.naive_attributes import encode_slowly


def read(values, *, max_categories=100, chunks=None, rows=None):
    """Encode raw values by property, given to the table in the chunks of row indices."""
    n = len(next(iter(values.values())))
    table = AttributeTable(list(values), n, max_categories=max_categories)
    for chunk in chunks if chunks is not None else [list(range(n))]:
        table.add(
            np.array(chunk, dtype=np.int64),
            {name: [column[i] for i in chunk] for name, column in values.items()},
        )
    return table.finish(np.arange(n) if rows is None else np.array(rows))


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def table_of(values, **options):
    result = read(values, **options)
    return list(result.names), dense(result.matrix).tolist()


def test_numbers():
    assert table_of({"year": [2000, 2001.5, -3]}) == (["year"], [[2000.0], [2001.5], [-3.0]])


def test_booleans():
    assert table_of({"open": [True, False, True]}) == (["open"], [[1.0], [0.0], [1.0]])


def test_a_missing_number_is_the_mean_and_says_so():
    names, rows = table_of({"year": [1, None, 4, None]})
    assert names == ["year", "year:missing"]
    assert rows == [[1.0, 0.0], [2.5, 1.0], [4.0, 0.0], [2.5, 1.0]]


def test_lists_of_numbers():
    names, rows = table_of({"vector": [[1, 2.5], [3, 4]]})
    assert names == ["vector[0]", "vector[1]"]
    assert rows == [[1.0, 2.5], [3.0, 4.0]]


def test_a_missing_list_is_the_means_and_says_so():
    names, rows = table_of({"vector": [None, [1, 2], [3, 6]]})
    assert names == ["vector[0]", "vector[1]", "vector:missing"]
    assert rows == [[2.0, 4.0, 1.0], [1.0, 2.0, 0.0], [3.0, 6.0, 0.0]]


def test_strings():
    names, rows = table_of({"venue": ["KDD", None, "", "KDD"]})
    assert names == ["venue=", "venue=KDD"]
    assert rows == [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def test_lists_of_strings():
    names, rows = table_of({"words": [["b", "a", "b"], [], None, ["c"]]})
    assert names == ["words=a", "words=b", "words=c"]
    assert rows == [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_rare_strings_share_a_column():
    values = {"venue": ["a", "b", "b", "c", "d", "d", None]}
    names, rows = table_of(values, max_categories=2)
    assert names == ["venue=b", "venue=d", "venue:other"]
    assert [row[2] for row in rows] == [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert table_of(values, max_categories=4)[0] == ["venue=a", "venue=b", "venue=c", "venue=d"]


def test_equally_frequent_strings_are_kept_by_name():
    assert table_of({"venue": ["z", "y", "x"]}, max_categories=1)[0] == ["venue=x", "venue:other"]


def test_two_rare_strings_of_a_list_count_once():
    names, rows = table_of({"words": [["a", "x", "y"], ["a"]]}, max_categories=1)
    assert (names, rows) == (["words=a", "words:other"], [[1.0, 1.0], [1.0, 0.0]])


def test_several_properties_keep_their_order():
    names, _ = table_of({"b": [1, 2], "a": ["x", "y"], "c": [True, None]})
    assert names == ["b", "a=x", "a=y", "c", "c:missing"]


def test_only_the_rows_asked_for_count():
    result = read({"x": [1, None, 3, 100], "v": ["a", "b", "c", "d"]}, rows=[2, 0])
    assert result.names == ("x", "v=a", "v=c")
    assert dense(result.matrix).tolist() == [[3.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


def test_mostly_empty_columns_are_sparse_and_full_ones_dense():
    assert sparse.issparse(read({"v": [str(i) for i in range(20)]}).matrix)
    assert isinstance(read({"v": ["a", "b", "a"]}).matrix, np.ndarray)
    mixed = read({"v": [str(i) for i in range(20)], "x": list(range(20))})
    assert isinstance(mixed.matrix, sparse.csr_array)
    assert mixed.matrix.shape == (20, 21)


SCALARS = {
    "number": st.one_of(st.integers(-(2**53), 2**53), st.floats(-1e9, 1e9)),
    "boolean": st.booleans(),
    "vector": st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    "category": st.sampled_from(["a", "b", "", "`", "ä=b", "論文"]),
    "tags": st.lists(st.sampled_from("abcdef"), max_size=4),
}


@st.composite
def columns(draw):
    n = draw(st.integers(1, 12))
    values = {}
    for kind, one in SCALARS.items():
        column = draw(st.lists(st.one_of(st.none(), one), min_size=n, max_size=n))
        if any(value is not None and value != [] for value in column):
            values[kind] = column
    if not values:
        values["number"] = [1] * n
    order = draw(st.permutations(range(n)))
    cut = draw(st.integers(1, n))
    return values, [order[:cut], order[cut:]], draw(st.integers(1, 7))


@settings(max_examples=200, deadline=None)
@given(columns())
def test_any_chunks_in_any_order_give_what_the_slow_twin_gives(case):
    values, chunks, max_categories = case
    names, rows = encode_slowly(values, max_categories)
    result = read(values, max_categories=max_categories, chunks=chunks)
    assert list(result.names) == names
    assert dense(result.matrix).tolist() == rows
    assert dense(encode(json.loads(json.dumps(result.recipe)), values)).tolist() == rows


def test_the_mean_does_not_depend_on_the_order():
    values = [0.1, 1e16, -1e16, 0.3, 1e-9, 7.0]
    means = {
        read({"x": [*order, None]}).recipe[0]["mean"] for order in (values, values[::-1], sorted(values))
    }
    assert means == {math.fsum(values) / 6}


def test_a_recipe_encodes_other_nodes():
    values = {
        "x": [1, 3, None],
        "v": ["a", "a", "b"],
        "w": [["p"], ["p", "q"], ["r"]],
        "f": [[1, 2], [3, 4], [5, 6]],
    }
    recipe = read(values, max_categories=1).recipe
    other = {"x": [None, 9], "v": ["zzz", "a"], "w": [["q", "p"], None], "f": [None, [7, 8]]}
    assert [name for entry in recipe for name in entry["columns"]] == [
        "x", "x:missing", "v=a", "v:other", "w=p", "w:other", "f[0]", "f[1]",
    ]  # fmt: skip
    assert dense(encode(recipe, other)).tolist() == [
        [2.0, 1.0, 0.0, 1.0, 1.0, 1.0, 3.0, 4.0],
        [9.0, 0.0, 1.0, 0.0, 0.0, 0.0, 7.0, 8.0],
    ]


def test_a_recipe_without_other_forgets_unknown_strings():
    recipe = read({"v": ["a", "b"]}).recipe
    assert dense(encode(recipe, {"v": ["c", "b"]})).tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_a_recipe_encodes_nodes_without_any_value():
    recipe = read({"x": [1, None], "f": [[1.0], [3.0]], "v": ["a", "b"]}).recipe
    assert dense(encode(recipe, {"x": [None], "f": [None], "v": [None]})).tolist() == [
        [1.0, 1.0, 2.0, 0.0, 0.0]
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": ["a"]}, "attribute 'x' has category values where its recipe has number"),
        ({"f": [[1, 2, 3]]}, "attribute 'f' has lists of 3 numbers where its recipe has 2: fit it anew"),
    ],
)
def test_values_that_do_not_fit_a_recipe(values, message):
    recipe = read({"x": [1, 2], "f": [[1, 2], [3, 4]]}).recipe
    with pytest.raises(ProjectionError) as caught:
        encode(recipe, {"x": [None], "f": [None]} | values)
    assert str(caught.value) == message


def test_values_must_cover_the_recipe():
    recipe = read({"x": [1, 2], "y": [1, 2]}).recipe
    for values in ({"x": [1]}, {"x": [1], "y": [1, 2]}):
        with pytest.raises(ValueError, match=r"one sequence of one length for each of \['x', 'y'\]"):
            encode(recipe, values)


BAD = {
    "mixed": ([1, "a"], "attribute 'p' mixes strings ('a') and numbers (1): make them one kind"),
    "boolean and number": ([1, True], "attribute 'p' mixes booleans (True) and numbers (1)"),
    "list and scalar": ([[1], 1], "attribute 'p' mixes numbers (1) and lists of numbers ([1])"),
    "empty list and number": ([[], 1], "attribute 'p' mixes empty lists ([]) and numbers (1)"),
    "lists of strings and of numbers": (
        [["a"], [1]],
        "attribute 'p' mixes lists of strings (['a']) and lists of numbers ([1])",
    ),
    "ragged": (
        [[1, 2], [1]],
        "attribute 'p' has lists of 2 and of 1 numbers: give all nodes lists of one length",
    ),
    "empty vector": ([[1, 2], []], "attribute 'p' has lists of 2 and of 0 numbers"),
    "nan": ([1.0, math.nan], "attribute 'p' has a value that is NaN, infinite or too large (nan)"),
    "infinite": ([math.inf], "attribute 'p' has a value that is NaN, infinite or too large (inf)"),
    "too large": ([-1e200], "attribute 'p' has a value that is NaN, infinite or too large (-1e+200)"),
    "nan in list": ([[1.0, math.nan]], "attribute 'p' has a value that is NaN, infinite or too large (nan)"),
    "date": ([date(2001, 2, 3)], "attribute 'p' holds date values (datetime.date(2001, 2, 3)): only numbers"),
    "bytes": ([b"x"], "attribute 'p' holds bytes values (b'x'): only numbers"),
    "list of booleans": ([[True]], "attribute 'p' holds lists of bool values ([True]): only numbers"),
    "list of dates": ([[date(2001, 2, 3)]], "attribute 'p' holds lists of date values"),
    "nothing": ([None, None], "attribute 'p' is on none of the nodes that match: leave it out"),
    "empty lists only": ([[], None], "attribute 'p' holds nothing but empty lists: leave it out"),
}


@pytest.mark.parametrize("chunked", [False, True], ids=["at once", "in chunks"])
@pytest.mark.parametrize(("column", "message"), BAD.values(), ids=BAD)
def test_bad_values_are_named(column, message, chunked):
    chunks = [[i] for i in range(len(column))] if chunked else None
    with pytest.raises(ProjectionError) as caught:
        read({"p": column}, chunks=chunks)
    text = str(caught.value)
    assert "\n" not in text
    if chunked and column in ([[1, 2], []], [[], 1]):
        assert text.startswith("attribute 'p' ")
    else:
        assert message in text


def test_too_many_different_strings_are_refused(monkeypatch):
    monkeypatch.setattr("heat_neo4j.attributes.columns._MOST_DISTINCT", 3)
    read({"p": ["a", "b", "c", "a"]})
    with pytest.raises(ProjectionError, match="more than 3 different strings: it looks like text"):
        read({"p": ["a", "b", "c", "d"]})


def test_long_examples_are_cut():
    with pytest.raises(ProjectionError) as caught:
        read({"p": ["a" * 1000, 1]})
    assert len(str(caught.value)) < 250
