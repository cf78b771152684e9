"""Values of every type that Neo4j stores, as one line for a person."""

from datetime import UTC

import pytest
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from heat_neo4j._utils.display import display_name, display_number, display_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (True, "yes"), (False, "no"), (3, "3"), (0.25, "0.25"), (float("nan"), "nan"),
        (float("-inf"), "-inf"), ("", ""), (" two\n lines\t", "two lines"),
        (["a", None, 2], "a, , 2"), (("a", 2), "a, 2"), ([], ""), ([True, 0.1 + 0.2], "yes, 0.3"),
        (list(range(12)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"),
        (list(range(2000)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … (2,000 in all)"),
        ("x" * 500, "x" * 239 + "…"), ("x" * 240, "x" * 240),
        (bytes([0, 255]), "0x00ff"), (bytearray([1]), "0x01"),
        (Date(2024, 2, 3), "2024-02-03"), (Duration(months=1, days=3, hours=2), "P1M3DT2H"),
        ([Date(2024, 2, 3), Date(2025, 1, 1)], "2024-02-03, 2025-01-01"),
    ],
)  # fmt: skip
def test_values_are_shown_for_people(value, text):
    assert display_text(value) == text


@pytest.mark.parametrize("longest", [30, 31, 60])
def test_long_names_keep_both_ends(longest):
    name = "".join(chr(ord("a") + place % 26) for place in range(longest))
    assert display_name(name, longest) == name
    begin, end = display_name(f"{name}Z", longest).split("…")
    assert len(begin) + len(end) == longest - 1
    assert abs(len(begin) - len(end)) < 2
    assert f"{name}Z".startswith(begin)
    assert f"{name}Z".endswith(end)
    assert display_name("new\nline") == "new line"


def test_large_numbers_have_no_exponent():
    shown = [display_number(each, 4) for each in (0.123456, 9999.4, 12345.6, -2.5e6, 1e300)]
    assert shown == ["0.1235", "9999", "12346", "-2500000", "1e+300"]


@pytest.mark.parametrize(
    ("value", "begin"),
    [
        (DateTime(2024, 2, 3, 4, 5, 6, tzinfo=UTC), "2024-02-03T04:05:06"), (Time(4, 5, 6), "04:05:06"),
        (CartesianPoint((1.0, 2.5)), str(CartesianPoint((1.0, 2.5)))),
        (WGS84Point((1.0, 2.5, 3.0)), str(WGS84Point((1.0, 2.5, 3.0)))),
    ],
)  # fmt: skip
def test_times_and_points_are_what_the_driver_calls_them(value, begin):
    assert display_text(value).startswith(begin)
    assert display_text([value, value]).startswith(begin)


@pytest.mark.parametrize("value", ["x" * 99, ["word"] * 12, ["word"] * 5000, b"x" * 99, [["deep"] * 20] * 20])
def test_no_text_is_longer_than_allowed(value):
    assert len(display_text(value, 40)) <= 40
    assert "…" in display_text(value, 40)
