"""Colours of numbers, of types of relationships, and whether everybody can tell them apart."""

import math
import re
from datetime import UTC, date, datetime
from importlib.resources import files

import neo4j.time
import numpy as np
import pytest

from heat_neo4j.explore.facets import N_GROUPS, N_SHADES, colour_scale
from heat_neo4j.explore.page_data import N_TYPES

ODD = [None, math.nan, math.inf, -math.inf, 10**400]


def test_shades_follow_the_order_of_values():
    values = [3.5, *range(60, 0, -1), None]
    scale = colour_scale("x", values)
    order = np.argsort(values[:-1], kind="stable")
    assert (np.diff(scale.shade[:-1][order].astype(int)) >= 0).all()
    assert (scale.shade[1], scale.shade[60], scale.shade[61]) == (N_SHADES - 1, 0, N_SHADES)
    assert (scale.ticks, scale.by_rank) == (["1", "30.5", "60"], False)
    for place in (0, 20, N_SHADES - 1):
        lowest, highest = float(scale.lowest[place]), float(scale.highest[place])
        shades = dict(zip(values, scale.shade.tolist(), strict=True))
        assert lowest == min(value for value, shade in shades.items() if shade >= place and value)
        assert highest == max(value for value, shade in shades.items() if shade <= place)


def test_a_skewed_property_is_shown_by_rank():
    values = [0] * 30 + [2**k for k in range(70)]
    scale = colour_scale("x", values)
    assert scale.by_rank
    assert scale.ticks == ["0", "524288", "5.90296e+20"]
    assert set(scale.shade[:30]) == {0}
    assert scale.shade[-1] == N_SHADES - 1
    assert scale.shade[values.index(2**19)] == pytest.approx(N_SHADES / 2, abs=1)


@pytest.mark.parametrize(
    "values",
    [
        [*range(20), *ODD],
        [*range(2**53, 2**53 + 40), *ODD],
        [10**k for k in range(0, 309, 4)] + ODD,
        [-1.7e308, *(1e307 * k for k in range(-15, 17)), 1.7e308, *ODD],
        [5e-324 * k for k in range(20)] + ODD,
        [np.int64(k) for k in range(20)] + ODD,
        [*range(60), "unknown", True, *ODD],
    ],
    ids=["plain", "beyond exact", "huge", "range beyond floats", "tiny", "numpy", "few others"],
)
def test_values_out_of_a_database_are_shades_or_grey(values):
    with np.errstate(all="raise", under="ignore"):
        scale = colour_scale("x", values)
    numbers = [value for value in values[: -len(ODD)] if not isinstance(value, str | bool)]
    order = np.argsort(np.array(numbers, dtype=float), kind="stable")
    shades = scale.shade[: len(numbers)][order].astype(int)
    assert (np.diff(shades) >= 0).all()
    assert shades[0] == 0
    assert shades[-1] == N_SHADES - 1
    assert set(scale.shade[len(numbers) :]) == {N_SHADES}


@pytest.mark.parametrize(
    "values",
    [
        [],
        ODD * 5,
        [*range(10), *ODD] * 3,
        [True, False] * 20,
        [*range(20), "a", "b"],
        [*range(20), *(date(2000, 1, day) for day in range(1, 21))],
        [[k] for k in range(20)],
    ],
    ids=["nothing", "no numbers", "few", "bools", "mixed", "numbers and dates", "lists"],
)
def test_what_is_no_scale_stays_groups(values):
    assert colour_scale("x", values) is None


def test_dates_are_a_scale():
    days = [neo4j.time.Date(2000 + k, 2, 3) for k in range(12)] + [date(2012, 2, 3), neo4j.time.ZeroDate]
    scale = colour_scale("x", days)
    assert scale.ticks == ["2000-02-03", "2006-02-02", "2012-02-03"]
    assert scale.shade[-2:].tolist() == [N_SHADES - 1, N_SHADES]
    hours = [datetime(2024, 5, 6, hour, tzinfo=UTC) for hour in range(11)]
    scale = colour_scale("x", [*hours, datetime(2024, 5, 6, 12), neo4j.time.DateTime(2024, 5, 6, 14)])
    assert scale.ticks == ["05-06 00:00", "05-06 07:00", "05-06 14:00"]


# What eyes without one kind of cones see, of linear RGB: Machado, Oliveira, Fernandes 2009, severity 1.
EYES = {
    "all": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                 [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
CONES = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
OKLAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
         [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip


def seen(colours, eyes):
    """Return hexadecimal colours as points of OKLab, where a distance of 0.02 is just visible."""
    parts = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return np.cbrt(np.clip(linear @ np.transpose(eyes), 0, 1) @ np.transpose(CONES)) @ np.transpose(OKLAB)


def apart(some, others):
    return np.linalg.norm(some[:, None] - others, axis=-1)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_types_differ_from_each_other_from_groups_and_from_the_disk(theme):
    css = files("heat_neo4j.explore").joinpath("assets", "page.css").read_text(encoding="utf-8")
    root = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[theme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", root))
    types = [colours[f"t{k}"] for k in range(N_TYPES)]
    groups = [colours[f"c{k}"] for k in range(N_GROUPS)]
    for eyes in EYES.values():
        between = apart(seen(types, eyes), seen(types, eyes))
        assert between[np.triu_indices(N_TYPES, 1)].min() > 0.13
        assert apart(seen(types, eyes), seen([colours["disk"]], eyes)).min() > 0.2
    assert apart(seen(types, EYES["all"]), seen([*groups, colours["line"]], EYES["all"])).min() > 0.07
