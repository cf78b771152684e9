from __future__ import annotations

import json
import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from heat_neo4j._utils.packing import pack
from heat_neo4j.attributes.columns import HASHED
from heat_neo4j.attributes.kinds import Date, Duration, Point, RecipeError, TimeOfDay
from heat_neo4j.attributes.table import Attribute, AttributeTable, described
from heat_neo4j.errors import ProjectionError
from tests.support.encode import encode
from tests.support.naive_attributes import encode_slowly, on_sphere_slowly, texts_slowly


def read(values, *, max_categories=100, chunks=None, rows=None, attributes=None, labels=None):
    """Encode raw values by property, given to the table in the chunks of row indices."""
    n = len(next(iter(values.values())))
    masks = {label: np.array(mask) for label, mask in (labels or {}).items()}
    wanted = list(map(Attribute, values)) if attributes is None else attributes
    table = AttributeTable(wanted, n, max_categories=max_categories, labels=masks)
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


def test_missing_number_becomes_mean_with_a_mark():
    names, rows = table_of({"year": [1, None, 4, None]})
    assert names == ["year", "year:missing"]
    assert rows == [[1.0, 0.0], [2.5, 1.0], [4.0, 0.0], [2.5, 1.0]]


def test_lists_of_numbers():
    names, rows = table_of({"vector": [[1, 2.5], [3, 4]]})
    assert names == ["vector[0]", "vector[1]"]
    assert rows == [[1.0, 2.5], [3.0, 4.0]]


def test_missing_list_becomes_means_with_a_mark():
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


def test_only_requested_rows_count():
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


@given(columns())
def test_any_chunks_in_any_order_match_the_slow_reference(case):
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
        "attribute 'p' has lists of several lengths: 1 number on 1 node and 2 on 1: give all nodes lists of",
    ),
    "nan": ([1.0, math.nan], "attribute 'p' has a value that is NaN, infinite or too large (nan)"),
    "infinite": ([math.inf], "attribute 'p' has a value that is NaN, infinite or too large (inf)"),
    "too large": ([-1e200], "attribute 'p' has a value that is NaN, infinite or too large (-1e+200)"),
    "nan in list": ([[1.0, math.nan]], "attribute 'p' has a value that is NaN, infinite or too large (nan)"),
    "date": ([date(2001, 2, 3)], "attribute 'p' holds date values (2001-02-03): only numbers"),
    "bytes": ([b"x"], "attribute 'p' holds bytes values (b'x'): only numbers"),
    "list of booleans": ([[True]], "attribute 'p' holds lists of bool values ([True]): only numbers"),
    "list of dates": ([[date(2001, 2, 3)]], "attribute 'p' holds lists of date values"),
    "nothing": ([None, None], "attribute 'p' is on no matching node: leave it out"),
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
    if chunked and column == [[], 1]:
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


def test_dates_are_days_and_durations_seconds():
    values = {"born": [Date(1.5), None, Date(-3.0)], "took": [Duration(60), Duration(1.25), Duration(0)]}
    names, rows = table_of(values)
    assert names == ["born", "born:missing", "took"]
    assert rows == [[1.5, 0.0, 60.0], [-0.75, 1.0, 1.25], [-3.0, 0.0, 0.0]]
    assert [entry["kind"] for entry in read(values).recipe] == ["date", "duration"]


def test_times_of_day_wrap():
    names, rows = table_of({"opens": [TimeOfDay(0.25), TimeOfDay(0.5), TimeOfDay(0.0), None]})
    assert names == ["opens:sin", "opens:cos", "opens:missing"]
    expected = [[1, 0, 0], [0, -1, 0], [0, 1, 0], [1 / 3, 0, 1]]
    np.testing.assert_allclose(rows, expected, atol=1e-15)


def test_points_of_the_plane_and_of_space():
    flat = {"at": [Point(7203, (1.0, 2.0)), Point(7203, (3.0, 6.0)), None]}
    assert table_of(flat) == (
        ["at:x", "at:y", "at:missing"],
        [[1.0, 2.0, 0.0], [3.0, 6.0, 0.0], [2.0, 4.0, 1.0]],
    )
    assert read(flat).recipe[0]["srid"] == 7203
    assert table_of({"at": [Point(9157, (1.0, 2.0, 3.0))]}) == (["at:x", "at:y", "at:z"], [[1.0, 2.0, 3.0]])


def test_points_of_the_globe_lie_on_a_sphere():
    places = [(12.5, 41.9), (-180.0, 10.0), (180.0, 10.0), (0.0, 90.0)]
    names, rows = table_of({"at": [Point(4326, place) for place in places]})
    assert names == ["at:x", "at:y", "at:z"]
    np.testing.assert_allclose(rows, [on_sphere_slowly(*place) for place in places], atol=1e-15)
    np.testing.assert_allclose(rows[1], rows[2], atol=1e-15)  # the same meridian from both sides
    names, rows = table_of({"at": [Point(4979, (0.0, 0.0, 250.0))]})
    assert (names, rows) == (["at:x", "at:y", "at:z", "at:height"], [[1.0, 0.0, 0.0, 250.0]])


TEXTS = [
    "Graphs of graphs: a survey",
    "The HYPERBOLIC plane, the plane itself and the graph of the plane",
    None,
    "",
    "a survey of 2024 surveys; naïve Überblick 論文 論文",
    "plane",
]
TITLE = [Attribute("title", text=True)]


def test_texts_are_weights_of_hashed_words():
    names, rows = texts_slowly("title", TEXTS, HASHED)
    result = read({"title": TEXTS}, attributes=TITLE)
    assert list(result.names) == names
    np.testing.assert_allclose(dense(result.matrix), rows, rtol=1e-14, atol=0)


def test_words_rarely_share_a_number():
    result = read({"title": [" ".join(f"word{number}" for number in range(20_000))]}, attributes=TITLE)
    assert len(result.names) > 19_700


def test_texts_are_encoded_as_by_scikit_learn():
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    present = [text for text in TEXTS if text is not None]
    hashed = HashingVectorizer(n_features=HASHED, alternate_sign=False, norm=None).transform(present)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(hashed).toarray()
    result = read({"title": TEXTS}, attributes=TITLE)
    columns = [int(name.removeprefix("title#")) for name in result.names]
    rows = [place for place, text in enumerate(TEXTS) if text is not None]
    np.testing.assert_allclose(dense(result.matrix)[rows], expected[:, columns], rtol=1e-14, atol=0)
    assert np.count_nonzero(expected) == np.count_nonzero(expected[:, columns])


PLAIN = {
    "date": st.floats(-1e6, 1e6).map(Date),
    "time": st.floats(0, 1, exclude_max=True).map(TimeOfDay),
    "duration": st.floats(-1e6, 1e6).map(Duration),
    "point": st.tuples(st.floats(-180, 180), st.floats(-90, 90)).map(lambda place: Point(4326, place)),
    "text": st.lists(st.sampled_from(["aa", "Bb", "cc", "論文", "a"]), max_size=30).map(" ".join),
}


@st.composite
def plain_columns(draw):
    n = draw(st.integers(2, 12))
    values = {
        kind: draw(st.lists(st.one_of(st.none(), one), min_size=n, max_size=n)) for kind, one in PLAIN.items()
    }
    values["text"][0] = "word"
    for kind in ("date", "time", "duration", "point"):
        values[kind][0] = draw(PLAIN[kind])
    order = draw(st.permutations(range(n)))
    cut = draw(st.integers(1, n - 1))
    return values, [order[:cut], order[cut:]]


@given(plain_columns())
def test_any_chunks_in_any_order_give_the_same_bits(case):
    values, chunks = case
    attributes = [Attribute(kind, text=kind == "text") for kind in values]
    plain = read(values, attributes=attributes)
    other = read(values, attributes=attributes, chunks=chunks)
    assert (other.names, other.recipe) == (plain.names, plain.recipe)
    assert dense(other.matrix).tobytes() == dense(plain.matrix).tobytes()
    again = encode(json.loads(json.dumps(plain.recipe)), values)
    assert dense(again).tobytes() == dense(plain.matrix).tobytes()
    backwards = list(range(len(values["date"])))[::-1]
    turned = read(values, attributes=attributes, rows=backwards)
    assert dense(turned.matrix)[::-1].tobytes() == dense(plain.matrix).tobytes()


def test_an_attribute_of_a_label_counts_on_its_nodes_only():
    values = {"year": [2000, None, 2010, 5], "venue": ["a", "b", "b", "z"]}
    labels = {"Paper": [True, True, True, False], "Author": [False, False, False, True]}
    attributes = [Attribute("year", "Paper"), Attribute("venue", "Paper"), Attribute("year", "Author")]
    result = read(values, attributes=attributes, labels=labels)
    assert result.names == (
        "Paper.year", "Paper.year:missing", "Paper.venue=a", "Paper.venue=b", "Author.year",
    )  # fmt: skip
    assert dense(result.matrix).tolist() == [
        [2000.0, 0.0, 1.0, 0.0, 5.0],
        [2005.0, 1.0, 0.0, 1.0, 5.0],
        [2010.0, 0.0, 0.0, 1.0, 5.0],
        [2005.0, 0.0, 0.0, 0.0, 5.0],
    ]
    assert [entry.get("label") for entry in result.recipe] == ["Paper", "Paper", "Author"]
    masks = {label: np.array(mask) for label, mask in labels.items()}
    again = encode(json.loads(json.dumps(result.recipe)), values, masks)
    assert dense(again).tolist() == dense(result.matrix).tolist()


def test_kinds_may_differ_from_label_to_label():
    labels = {"A": [True, False], "B": [False, True]}
    attributes = [Attribute("x", "A"), Attribute("x", "B", text=True)]
    result = read({"x": [7, "word"]}, attributes=attributes, labels=labels)
    assert [entry["kind"] for entry in result.recipe] == ["number", "text"]
    assert dense(result.matrix).tolist() == [[7.0, 0.0], [7.0, 1.0]]


def test_values_unknown_to_a_recipe_are_counted():
    attributes = [Attribute("v"), Attribute("title", text=True), Attribute("x")]
    learnt = read({"v": ["a", "b"], "title": ["one two", "two"], "x": [1, 3]}, attributes=attributes)
    table = AttributeTable(attributes, 2, max_categories=100)
    table.add(np.arange(2), {"v": ["c", "a"], "title": ["two three four", "two"], "x": [None, 9]})
    result = table.apply(learnt.recipe, np.arange(2))
    assert result.unknown == 3
    assert result.names == learnt.names
    two = [name.startswith("title#") for name in learnt.names].index(True)
    matrix = dense(result.matrix)
    assert matrix[:, :two].tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert sorted(matrix[0, two:-1].tolist()) == [0.0, 1.0]
    assert matrix[:, -1].tolist() == [2.0, 9.0]


@pytest.mark.parametrize(
    ("n_rows", "is_sample", "others"),
    [(2, False, "1 more"), (3, False, "at least 1 more"), (2, True, "at least 1 more")],
)
def test_bad_values_are_counted_as_far_as_they_were_read(n_rows, is_sample, others):
    table = AttributeTable(
        [Attribute("p")], n_rows, max_categories=1, name_of="node {}".format, is_sample=is_sample
    )
    with pytest.raises(ProjectionError, match=f" on node node 0 and {others}: set or remove"):
        table.add(np.arange(2), {"p": [np.nan, np.nan]})


@pytest.mark.parametrize(
    ("values", "other", "message"),
    [
        ({"p": [Point(4326, (1.0, 2.0))]}, {"p": [Point(7203, (1.0, 2.0))]}, "srid 7203 where .* 4326: fit"),
        ({"p": [Date(1.0)]}, {"p": [1.0]}, "attribute 'p' has number values where its recipe has date"),
        ({"p": [[1, 2]]}, {"p": [[1, 2, 3]]}, "lists of 3 numbers where its recipe has 2"),
    ],
)
def test_another_kind_or_system_does_not_fit_a_recipe(values, other, message):
    with pytest.raises(RecipeError, match=message):
        encode(read(values).recipe, other)


LAST_WORD, THREE = (pack(np.array([number]), "<i4") for number in (HASHED, 3))
TEXT = {"kind": "text", "words": LAST_WORD, "texts_with": THREE, "n_texts": 3}
DAMAGED = [
    {}, {"property": ["x"]}, {"label": 3}, {"kind": []}, {"kind": "empty"}, {"columns": None},
    {"columns": []}, {"mean": None}, {"mean": "x"}, {"mean": [1.0]}, {"missing": 1}, {"kind": "vector"},
    {"kind": "text"}, {"kind": "point", "mean": [1.0]}, {"kind": "time of day", "mean": [1.0]},
    {"kind": "category", "values": 3}, {"kind": "tags", "values": ["a", "b"], "other": False},
    {"kind": "tags", "values": [[]], "other": False}, {"n_columns": 2}, {"n_columns": "1"},
    {**TEXT, "words": "?"}, {**TEXT, "words": 3}, {**TEXT, "words": pack(np.array([1, 1]), "<i4")},
    {**TEXT, "words": pack(np.array([0]), "<i4")}, {**TEXT, "words": pack(np.array([HASHED + 1]), "<i4")},
    {**TEXT, "n_columns": 0}, {**TEXT, "n_columns": 2**40}, {**TEXT, "n_texts": 2}, {**TEXT, "n_texts": None},
    {**TEXT, "texts_with": pack(np.array([0]), "<i4")},
]  # fmt: skip


@pytest.mark.parametrize("change", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_recipe_is_refused(change):
    (entry,) = read({"x": [1.0, 2.0]}).recipe
    recipe = [{**entry, **change} if change else {}]
    with pytest.raises(RecipeError, match="the recipe is damaged"):
        encode(recipe, {"x": [3.0]})
    table = AttributeTable([Attribute("x")], 1, max_categories=1)
    table.add(np.arange(1), {"x": [3.0]})
    with pytest.raises(RecipeError, match="the recipe is damaged"):
        table.apply(recipe, np.arange(1))


def test_points_of_more_coordinates_do_not_fit_a_recipe():
    (entry,) = read({"p": [Point(7203, (1.0, 2.0))]}).recipe
    changed = {**entry, "mean": [1.0, 2.0, 3.0], "n_columns": 3, "columns": ["a", "b", "c"]}
    with pytest.raises(RecipeError, match="points of 2 columns where its recipe has 3"):
        encode([changed], {"p": [Point(7203, (1.0, 2.0))]})


def test_a_recipe_of_other_attributes_does_not_fit():
    recipe = read({"x": [1]}).recipe
    table = AttributeTable([Attribute("x"), Attribute("y")], 1, max_categories=1)
    with pytest.raises(RecipeError, match=r"the recipe covers attributes x, not x, y"):
        table.apply(recipe, np.arange(1))
    as_text = AttributeTable([Attribute("x", text=True)], 1, max_categories=1)
    with pytest.raises(RecipeError, match=r"the recipe covers attributes x, not x \(text\)"):
        as_text.apply(recipe, np.arange(1))


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [
        (
            [Point(4326, (0.0, 0.0)), Point(7203, (0.0, 0.0))],
            False,
            "mixes points of srid 4326 and 7203: give",
        ),
        ([Date(1.0), 1.0], False, r"mixes dates \(1970-01-02\) and numbers \(1.0\)"),
        ([Point(7203, (math.nan, 0.0))], False, "has a value that is NaN"),
        (["a b", 1], True, r"mixes strings \('a b'\) and numbers"),
        ([1], True, r"text 'p' holds numbers \(1\): it must hold strings"),
        ([["a"]], True, r"text 'p' holds lists of strings"),
        (["a", ""], True, "text 'p' has no word of two letters or more"),
    ],
)
def test_bad_values_of_the_other_kinds_are_named(column, text, message):
    with pytest.raises(ProjectionError, match=message) as caught:
        read({"p": column}, attributes=[Attribute("p", text=text)])
    assert "\n" not in str(caught.value)


def test_points_of_two_systems_are_refused_across_chunks():
    column = [Point(7203, (0.0, 0.0)), Point(4326, (0.0, 0.0))]
    with pytest.raises(ProjectionError, match="mixes points of srid 4326 and 7203"):
        read({"p": column}, chunks=[[0], [1]])


def test_a_label_without_values_is_named():
    attributes = [Attribute("x", "Author")]
    with pytest.raises(ProjectionError, match=r"'Author.x' is on no matching node of label 'Author'"):
        read({"x": [1]}, attributes=attributes, labels={"Author": [False]})


def test_a_recipe_has_a_short_description():
    values = {
        "n": [1, 2], "d": [Date(365.0), Date(367.0)], "t": [TimeOfDay(0.25), TimeOfDay(0.25)],
        "s": [Duration(10), Duration(20)], "p": [Point(7203, (1.0, 2.0))] * 2, "v": [[1, 2], [3, 4]],
        "c": ["a", "b"], "w": ["word", "words"],
    }  # fmt: skip
    recipe = read(values, attributes=[Attribute(name, text=name == "w") for name in values]).recipe
    assert list(map(described, recipe)) == [
        "mean 1.5", "mean 1971-01-02", "mean 06:00", "mean 15 s", "srid 7203, mean 1, 2",
        "means of 2 numbers", "2 categories", "vocabulary of 2 hashed words",
    ]  # fmt: skip
