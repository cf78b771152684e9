"""The command line reads the same from signatures and docstrings as Python and its users."""

import inspect

import click
import pytest

from heat_neo4j import HEAT, LinkOptions, LoadNames, Projection
from heat_neo4j.cli.signatures import source_of, verb
from heat_neo4j.cli.values import Count, Keyed, Number, OrAuto, Pair
from heat_neo4j.client import Database
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.pipeline.gate import Gate

VERBS = sorted(
    {name for name in vars(Database) if not name.startswith("_")} - {"close", "server", "run", "query"}
)
OTHERS = {
    ("heat", "HEAT"): HEAT,
    ("database.projection", "Projection"): Projection,
    ("database.naming", "WriteNames"): WriteNames,
    ("pipeline.job", "LinkOptions"): LinkOptions,
    ("pipeline.gate", "Gate"): Gate,
    ("database.write.loader", "LoadNames"): LoadNames,
}


def compare(source, real):
    """Compare what is read of a source with the parameters of what it defines."""
    given = {name: each for name, each in real.items() if each.kind is not each.VAR_KEYWORD}
    assert list(source.parameters) == list(given)
    for name, each in source.parameters.items():
        default = given[name].default
        assert each.required == (default is inspect.Parameter.empty), name
        if isinstance(default, str | int | float | tuple):
            assert each.default == default, name


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_has_the_parameters_of_its_method(name):
    _, *parameters = inspect.signature(getattr(Database, name)).parameters.items()
    if name.startswith("evaluate"):
        (graph, _), *parameters = parameters
        assert graph == "graph", "sphinx takes the first parameter for self"
    compare(verb(name), dict(parameters))


@pytest.mark.parametrize("names", OTHERS, ids=lambda names: names[1])
def test_a_class_has_the_parameters_of_its_constructor(names):
    compare(source_of(*names), dict(inspect.signature(OTHERS[names]).parameters))


def test_a_docstring_gives_kind_range_and_help():
    of_heat, of_projection = (
        source_of("heat", "HEAT").parameters,
        source_of("database.projection", "Projection").parameters,
    )
    alpha, patterns = of_heat["alpha"], source_of("pipeline.job", "LinkOptions").parameters["patterns"]
    assert isinstance(alpha.values, OrAuto)
    numbers = alpha.values.numbers
    assert (type(numbers), numbers.min, numbers.max, alpha.default) == (Number, 0, 1, "auto")
    assert alpha.help == "Share of steps that follow attributes; 0 is topology only."
    assert type(of_heat["walk_length"].values) is Count
    assert of_heat["sigma"].values.min_open
    assert of_heat["random_state"].values.convert(str(2**40), None, None) == 2**40
    assert of_heat["refine"].values is click.BOOL
    assert of_projection["aggregation"].values.choices == ("sum", "min", "max", "count", "single")
    assert (type(of_projection["type_weights"].values), type(of_projection["key"].values)) == (Pair, Keyed)
    assert patterns.multiple
    assert patterns.help.endswith("repeat for more.  [default: the graph's patterns, except rare ones]")


def test_unknown_names_are_refused():
    with pytest.raises(KeyError, match=r"client has no Database\.guess"):
        verb("guess")
