"""The page as text, its data and its library, without a browser."""

import base64
import hashlib
import json
import re
import zlib
from datetime import date
from importlib.resources import files

import numpy as np
import pytest
from scipy import sparse

from heat_neo4j._utils.display import printable
from heat_neo4j.explore import page as library
from heat_neo4j.explore.facets import N_SHADES, Groups, colour_scale
from heat_neo4j.explore.page import build_page, html_safe_json
from heat_neo4j.explore.page_data import edges_part, joined_pairs, likeliest_of_each, links_part
from heat_neo4j.explore.published import listed, page_facets
from heat_neo4j.geometry.hyperboloid import distance, lift
from heat_neo4j.geometry.search import nearest_neighbours
from heat_neo4j.graph import Graph, Relationships
from heat_neo4j.linkpred.prediction import PredictedLinks
from heat_neo4j.patterns import Pattern

N = 23
YEARS = colour_scale("year", range(2000, 2000 + N))


@pytest.fixture(scope="module")
def points():
    return lift(np.random.default_rng(0).normal(size=(N, 2)))


@pytest.fixture(scope="module")
def graph():
    ring = np.arange(N)
    return Graph(sparse.csr_array((np.ones(N), (ring, (ring + 3) % N)), shape=(N, N)))


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), dtype=f"<{packed['type']}")


def part_of(html, name):
    packed = re.search(rf'<script type="text/plain" id="part-{name}">([^<]*)</script>', html)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


@pytest.mark.parametrize("dimension", [2, 7])
def test_neighbours_are_those_of_the_full_table_of_distances(dimension):
    embedding = lift(np.random.default_rng(1).normal(size=(1500, dimension)))  # more than one block
    embedding[7] = embedding[3]
    found = nearest_neighbours(embedding, 6, n_threads=1)
    for row in (0, 3, 7, 1023, 1024, 1499):
        apart = distance(embedding[row], embedding)
        apart[row] = np.inf
        order = np.argsort(apart, kind="stable")[:6]
        assert np.array_equal(found.partner[row], order)
        assert np.allclose(found.distance[row], apart[order], rtol=1e-12, atol=1e-15)
    again = nearest_neighbours(embedding, 6, n_threads=2)
    assert np.array_equal(found.partner, again.partner)
    assert np.array_equal(found.distance, again.distance)


def test_there_may_be_fewer_neighbours_than_asked_for(points):
    assert nearest_neighbours(points[:3], 10).partner.shape == (3, 2)
    assert nearest_neighbours(points[:1], 10).partner.shape == (1, 0)
    with pytest.raises(ValueError, match="k must be at least 1"):
        nearest_neighbours(points, 0)


def test_small_probabilities_of_links_stay_apart(graph):
    links = PredictedLinks(np.array([0, 1]), np.array([2, 5]), np.array([0.5, 0.7]), np.array([3e-6, 2e-6]))
    shown = unpacked(links_part(links, graph)["probability"])
    assert np.allclose(shown, [3e-6, 2e-6], rtol=1e-6)


def test_the_page_holds_the_numbers_to_the_bit(points, graph):
    neighbours = nearest_neighbours(points, 4)
    predicted = PredictedLinks(
        np.array([5, 0]), np.array([9, 2]), np.array([0.5, 0.7]), np.array([0.75, 0.25])
    )
    html = build_page(
        points, graph, neighbours=neighbours, predicted=predicted, names=list("abcdefghijklmnopqrstuvw")
    )
    nodes = part_of(html, "nodes")
    assert np.array_equal(unpacked(nodes["points"]).reshape(N, 2), points[:, :2])
    assert unpacked(nodes["degree"]).tolist() == graph.degrees.tolist()
    assert set(zip(*pairs_of(part_of(html, "edges")), strict=True)) == {
        tuple(sorted((row, (row + 3) % N))) for row in range(N)
    }
    near = part_of(html, "lists")["neighbours"]
    assert np.array_equal(unpacked(near["partner"]).reshape(N, 4), neighbours.partner)
    shown = unpacked(near["distance"]) / 1000
    assert np.abs(shown - neighbours.distance.ravel()).max() <= 0.0005 + 1e-12  # as it is written
    links = part_of(html, "links")
    assert (links["total"], list(zip(*pairs_of(links), strict=True))) == (2, [(0, 2), (5, 9)])
    assert np.allclose(unpacked(links["probability"]), [0.25, 0.75], rtol=1e-6)
    assert part_of(html, "names")[3] == "d"


def test_of_many_links_the_likeliest_of_each_node_are_kept(points, graph):
    rng = np.random.default_rng(4)
    pairs = np.unique(np.sort(rng.integers(0, N, size=(150, 2))), axis=0)
    pairs = rng.permutation(pairs[pairs[:, 0] < pairs[:, 1]])
    links = PredictedLinks(pairs[:, 0], pairs[:, 1], np.sort(rng.random(len(pairs))))
    best = {
        place
        for node in range(N)
        for place in [k for k, pair in enumerate(pairs.tolist()) if node in pair][:3]
    }
    assert likeliest_of_each(links, 3).tolist() == sorted(best)
    part = part_of(build_page(points, graph, predicted=links, most_of_each=3), "links")
    assert (part["total"], len(unpacked(part["columns"]))) == (len(pairs), len(best))
    assert len(best) < len(pairs)
    kept = zip(*pairs_of(part), unpacked(part["distance"]).tolist(), strict=True)
    assert set(kept) == {(*pairs[k].tolist(), round(1000 * links.distance[k])) for k in best}


def test_groups_beyond_the_tenth_share_one_entry(points, graph):
    groups = ["a"] * 8 + ["b"] * 4 + list("cdefghijklm")
    facet = part_of(build_page(points, graph, facets=[Groups("x", groups)]), "nodes")["facet"]
    legend = facet["legend"]
    assert [entry["name"] for entry in legend] == [*"abcdefghij", "3 others"]
    assert [entry["count"] for entry in legend] == [8, 4, *[1] * 8, 3]
    code = unpacked(facet["group"])
    assert code.tolist() == [0] * 8 + [1] * 4 + [2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]


def typed_graph(pairs):
    relationships = Relationships.from_pairs(
        {name: tuple(np.transpose(rows).astype(np.int64)) for name, rows in pairs.items()}
    )
    ends = (relationships.source, relationships.target)
    adjacency = sparse.csr_array((np.ones(len(relationships)), ends), shape=(N, N))
    return Graph(adjacency, relationships=relationships)


def test_relationships_come_with_type_and_direction(points):
    pairs = {
        "A": [(5, 2), (2, 5), (7, 1)],
        "B\x1b": [(2, 5), (1, 0)],
        **{f"T{k}": [(k, 9)] for k in range(6)},
    }
    predicted = PredictedLinks(
        np.array([8, 3]), np.array([2, 4]), np.ones(2),
        patterns=(Pattern("X", "new", "X"), Pattern("X", "A", "X")), pattern=np.array([0, 1]),
    )  # fmt: skip
    html = build_page(points, typed_graph(pairs), predicted=predicted)
    types, edges, links = part_of(html, "nodes")["types"], part_of(html, "edges"), part_of(html, "links")
    assert types["names"] == ["A", "B\\x1b", *(f"T{k}" for k in range(6))]
    legend = [(entry["name"], entry["count"], entry["other"]) for entry in types["legend"]]
    assert legend[:2] == [("A", 3, False), ("B\\x1b", 2, False)]
    assert legend[5:] == [("T3", 1, False), ("2 others", 2, True)]
    shown = {
        (row, column, types["names"][kind >> 1], bool(kind & 1))
        for row, column, kind in zip(*pairs_of(edges), unpacked(edges["kind"]).tolist(), strict=True)
    }
    assert shown == {
        (2, 5, "A", True), (7, 1, "A", False), (2, 5, "B\\x1b", False), (1, 0, "B\\x1b", False),
        *((k, 9, f"T{k}", False) for k in range(6)),
    }  # fmt: skip
    assert links["types"] == ["new"]  # after the others
    shown = zip(*pairs_of(links), unpacked(links["kind"]).tolist(), strict=True)
    assert list(shown) == [(3, 4, 0), (8, 2, 2 * 8)]
    assert edges["kind"]["type"] == "u1"


def pairs_of(packed):
    counts = unpacked(packed["counts"])
    return np.repeat(np.arange(len(counts)), counts).tolist(), unpacked(packed["columns"]).tolist()


def test_without_known_directions_there_are_no_types(points, graph):
    predicted = PredictedLinks(np.array([0]), np.array([2]), np.ones(1))
    html = build_page(points, graph, predicted=predicted)
    assert "types" not in part_of(html, "nodes")
    assert "kind" not in part_of(html, "edges")
    assert "kind" not in part_of(html, "links")


def test_a_scale_takes_the_place_of_groups(points, graph):
    facet = part_of(build_page(points, graph, facets=[YEARS]), "nodes")["facet"]
    assert (facet["name"], facet["legend"]) == ("year", [])
    scale = facet["scale"]
    assert [scale.pop(name)[N_SHADES // 2] for name in ("lowest", "highest")] == ["2011", "2011"]
    assert scale == {
        "ticks": ["2000", "2011", "2022"], "by_rank": False, "shades": N_SHADES, "missing": 0,
    }  # fmt: skip
    assert unpacked(facet["group"]).tolist() == YEARS.shade.tolist()


def test_what_colours_the_nodes_first_and_then():
    columns = {
        "name": [f"name {row}" for row in range(N)],
        "year": list(range(2000, 2000 + N)),
        "field": ["a", None] * 11 + ["b"],
        "one": ["x"] * N,
    }
    columns["heatCluster1"] = ["1 a"] * N
    names = [facet.name for facet in page_facets(["A"] * N, columns, ["heatCluster1"])]
    assert names == ["labels", "year", "field", "heatCluster1"]
    first, *others = page_facets([], columns, (), "name")
    assert (first.name, first.values) == ("name", columns["name"])
    assert [facet.name for facet in others] == ["", "year", "field"]
    assert others[1].shade.tolist() == YEARS.shade.tolist()
    assert others[2].values == columns["field"]


def test_no_data_can_end_its_element_or_run(points, graph):
    hostile = [
        "</script><script>alert(1)</script>",
        "<!-- <script>",
        "\u2028]]>\ud800",
        "{{program}}",
        "&lt;",
    ]
    names = hostile + ["x"] * (N - len(hostile))
    html = build_page(
        points,
        graph,
        names=names,
        facets=[Groups("</script>", names)] * 2,
        properties={"<b>": names},
        title="<i>&",
        note="</p>",
    )
    assert part_of(html, "names") == [printable(name) for name in names]
    # Ours: heading, the parts, licence, library, program.
    assert len(re.findall("</script", html, re.IGNORECASE)) == 4 + 8  # parts of data
    assert "alert(1)</" not in html
    assert "<title>&lt;i&gt;&amp;</title>" in html
    html.encode("utf-8")
    assert html_safe_json(["</script>", "&", "\u2029"]) == '["\\u003c/script\\u003e","\\u0026","\\u2029"]'


def test_the_policy_names_exactly_the_two_scripts_and_the_style(points, graph):
    html = build_page(points, graph)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    allowed = set(re.findall("'(sha256-[^']*)'", policy))
    inline = re.findall(r"<script>(.*?)</script>", html, re.DOTALL) + re.findall(
        r"<style>(.*?)</style>", html, re.DOTALL
    )
    hashes = {
        f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}" for text in inline
    }
    assert allowed == hashes
    assert len(allowed) == 3
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_the_library_comes_with_its_name_version_and_licence(points, graph):
    html = build_page(points, graph)
    licence = re.search(r'<script type="text/plain" id="licence">(.*?)</script>', html, re.DOTALL)[1]
    assert licence.strip().startswith(f"{library.NAME} {library.VERSION}\n")
    assert "Permission is hereby granted, free of charge" in licence
    assert f"@license {library.NAME} {library.VERSION}" in html


def test_properties_are_shown_as_text(points, graph):
    values = [None, ["a", 2], date(2024, 2, 3), *[0.5] * (N - 3)]
    (shown,) = part_of(build_page(points, graph, properties={"x": values}), "lists")["properties"]
    assert shown == ["x", ["", "a, 2", "2024-02-03", *["0.5"] * (N - 3)]]


def test_nodes_without_a_group_are_a_group(points, graph):
    html = build_page(points, graph, facets=[Groups("x", [None] * 3 + ["a"] * (N - 4) + [""])])
    legend = part_of(html, "nodes")["facet"]["legend"]
    assert [(entry["name"], entry["count"]) for entry in legend] == [("a", N - 4), ("(none)", 4)]


def test_wide_rows_are_used_only_where_needed(graph):
    assert edges_part(joined_pairs(graph), N)["columns"]["type"] == "u1"
    n = (1 << 16) + 1
    large = Graph(sparse.csr_array((np.ones(1), ([0], [n - 1])), shape=(n, n)))
    assert unpacked(edges_part(joined_pairs(large), n)["columns"]).tolist() == [n - 1]


def test_a_file_lists_fewer_neighbours_of_a_large_graph():
    assert list(map(listed, (0, 1, 16_000, 40_000, 10**6))) == [10, 10, 10, 4, 3]


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        (library.SCRIPT, "bc94a897aa369db1af4b32b33d069ad92aa1032688dfec4ace0656eca404b032"),
        (library.LICENCE, "87a5a44b12faff1205d5325b67b26216404fec66f08db2df4d448bff42f4d668"),
    ],
)
def test_the_library_is_what_was_published(name, digest):
    """In the npm package of this version; its integrity, as in npm's lock files:

    sha512-9HHZ8emdZb2nKPU0FDIGDlkp6AD9rWFv7ThqdbmUqyBhD3WTQpLN+89w4B+YshGwD1fL6PMVpVKZqC0pikgmcA==
    """
    content = files("heat_neo4j.explore").joinpath("assets", name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
