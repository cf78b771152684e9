"""Every option: how it is declared, and which commands have it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from heat_neo4j.cli.config import read_config
from heat_neo4j.cli.group import VERBOSITY, Option

__all__ = [
    "AGGREGATIONS",
    "Count",
    "Decorator",
    "Duration",
    "Number",
    "checkpoint_option",
    "choose_option",
    "common_options",
    "connection_options",
    "heat_options",
    "index_switch",
    "job_options",
    "json_option",
    "link_options",
    "link_type_option",
    "links_switch",
    "memory_option",
    "mode_options",
    "model_option",
    "names_options",
    "option",
    "overwrite_option",
    "projection_options",
    "recipe_option",
    "records_option",
    "stack",
    "threads_option",
    "write_options",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

HEADINGS = {
    "connection": "Connection",
    "projection": "Projection",
    "heat": "Embedding",
    "choose": "Embedding",
    "refresh": "Refreshing",
    "serve": "Serving",
    "limits": "Embedding",
    "write": "Writing",
    "links": "Predicted links",
}
_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_LONGEST = 3_650 * 86_400.0  # a date so far from now there still is
_SMALLEST, _LARGEST = 1e-12, 1e12
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
AGGREGATIONS = ("sum", "min", "max", "count", "single")


def option(*names: str, key: str | None, heading: str = "General", **settings: Any) -> Decorator[Function]:
    """Declare an option; one with a `key` in heat.toml stands under the heading of its section."""
    if key is not None:
        heading = HEADINGS[key.split(".")[0]]
    return click.option(*names, cls=Option, heading=heading, key=key, **settings)


def stack(*decorators: Decorator[Function]) -> Decorator[Function]:
    """Return one decorator that lists the options in the order given."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _use_config(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Make the values of heat.toml the defaults of the command's options."""
    values = read_config(path)
    context.default_map = {
        parameter.name: _as_given(values[parameter.key])
        for parameter in context.command.params
        if isinstance(parameter, Option) and parameter.key in values and parameter.name is not None
    }
    return path


def _as_given(value: Any) -> Any:
    """Return a value of heat.toml as the command line would give it: a table as pairs, one an option."""
    if not isinstance(value, Mapping):
        return value
    lists = {name: item if isinstance(item, list) else [item] for name, item in value.items()}
    return [(name, item) for name, items in lists.items() for item in items]


class _Pair(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on only
    """A name and a value with a "=" between them, the first of several."""

    name = "pair"

    def __init__(self, value_type: click.ParamType[Any]) -> None:
        self._value_type = value_type

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Return name and value."""
        name, equals, rest = value.partition("=") if isinstance(value, str) else (value[0], "=", value[1])
        if not (name and equals and rest != ""):
            self.fail(f"{value!r} is not a name and a value with = between them", param, ctx)
        return name, self._value_type.convert(rest, param, ctx)


class Count(click.IntRange):
    """A whole number in a range, of a size that can be reckoned with."""

    def __init__(self, min: int, max: int | None = None, *, largest: int | None = 2**31 - 1) -> None:
        super().__init__(min, max)
        self._largest = largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if self._largest is not None and number > self._largest:
            self.fail(f"it must be at most {self._largest:,}", param, ctx)
        return number


class Number(click.FloatRange):
    """A finite number in a range, 1e12 at most; above 0, it is at least 1e-12."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(_number(value), param, ctx)
        if not math.isfinite(number):  # not-a-number is in every range
            self.fail(f"{number!r} is not a finite number", param, ctx)
        if number != 0 and not _SMALLEST <= abs(number) <= _LARGEST:
            self.fail(f"{number!r} is not in the range {_SMALLEST:g}<=x<={_LARGEST:g}", param, ctx)
        return number


def _number(value: Any) -> Any:
    """Return a number of heat.toml that no float can hold as an infinite one."""
    if isinstance(value, int) and abs(value) > 10**300:
        return math.inf if value > 0 else -math.inf
    return value


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as 90s, 15m, 2h or 1d, above 0; in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, int | float):
            return float(value)
        found = _DURATION.fullmatch(value.strip())
        if found is None or not float(found[1]):
            self.fail(f"{value!r} is not a time such as 90s, 15m, 2h or 1d", param, ctx)
        seconds = float(found[1]) * _UNIT_SECONDS[found[2]]
        if not _SMALLEST <= seconds <= _LONGEST:
            self.fail("it must be at most 3650d", param, ctx)
        return seconds


def _use_verbosity(context: click.Context, _: click.Parameter, count: int) -> int:
    context.meta[VERBOSITY] = count
    return count


common_options: Decorator[Any] = stack(
    option(
        "--config",
        key=None,
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="HEAT_CONFIG",
        is_eager=True,
        expose_value=False,
        callback=_use_config,
        help="Defaults for these options.  [env: HEAT_CONFIG; default: heat.toml, if there is one]",
    ),
    option(
        "-v",
        "--verbose",
        key=None,
        count=True,
        is_eager=True,
        callback=_use_verbosity,
        help="Say more: -v the times of all stages, -vv also the traceback of an error.",
    ),
)
json_option: Decorator[Any] = option(
    "--json", "as_json", key=None, is_flag=True, help="Print one JSON document on stdout."
)

connection_options: Decorator[Any] = stack(
    option(
        "--uri",
        key="connection.uri",
        metavar="URI",
        envvar="NEO4J_URI",
        help="Address, such as neo4j://localhost:7687.  [env: NEO4J_URI; default: the local server]",
    ),
    option(
        "--username",
        key="connection.username",
        metavar="NAME",
        envvar="NEO4J_USERNAME",
        help="Database user.  [env: NEO4J_USERNAME; default: neo4j]",
    ),
    option(
        "--password-file",
        key="connection.password_file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File that holds the password, and nothing else.  [env: NEO4J_PASSWORD, the password itself]",
    ),
    option(
        "--database",
        key="connection.database",
        metavar="NAME",
        envvar="NEO4J_DATABASE",
        help="Database name.  [env: NEO4J_DATABASE; default: the user's home database]",
    ),
)

projection_options: Decorator[Any] = stack(
    option(
        "--labels",
        key="projection.labels",
        multiple=True,
        metavar="LABEL",
        help="Nodes with this label; repeat for more.  [default: all nodes]",
    ),
    option(
        "--relationships",
        key="projection.relationships",
        multiple=True,
        metavar="TYPE",
        help="Relationships of this type; repeat for more.  [default: all but predicted links]",
    ),
    option(
        "--weight",
        key="projection.weight",
        metavar="PROPERTY",
        help="Relationship property that holds the weight.  [default: every relationship weighs 1]",
    ),
    option(
        "--default-weight",
        key="projection.default_weight",
        type=Number(min=0),
        metavar="X",
        default=1.0,
        show_default=True,
        help="Weight of a relationship that lacks the weight property.",
    ),
    option(
        "--aggregation",
        key="projection.aggregation",
        type=click.Choice(AGGREGATIONS),
        default="sum",
        show_default=True,
        help="What parallel relationships make together.",
    ),
    option(
        "--time",
        key="projection.time",
        metavar="PROPERTY",
        help="Relationship property with a date, datetime or number, for evaluation on the latest edges.",
    ),
    option(
        "--attributes",
        key="projection.attributes",
        multiple=True,
        metavar="PROPERTY",
        help="Node property to use as attribute; repeat for more.",
    ),
    option(
        "--text",
        key="projection.text",
        multiple=True,
        metavar="PROPERTY",
        help="Node property that holds text, to use the words of; repeat for more.",
    ),
    option(
        "--label-attributes",
        key="projection.label_attributes",
        multiple=True,
        type=_Pair(click.STRING),
        metavar="LABEL=PROPERTY",
        help="Property that is an attribute of the nodes with this label only; repeat for more.",
    ),
    option(
        "--type-weight",
        "type_weights",
        key="projection.type_weights",
        multiple=True,
        type=_Pair(Number(min=0, min_open=True)),
        metavar="TYPE=X",
        help="Factor on the weight of relationships of this type; repeat for more.  [default: 1]",
    ),
    option(
        "--max-categories",
        key="projection.max_categories",
        type=Count(min=1),
        metavar="N",
        default=10_000,
        show_default=True,
        help="Most columns that one property of strings may become; rarer values share one.",
    ),
    option(
        "--key",
        key="projection.key",
        metavar="PROPERTY",
        help="Unique node property to order nodes by, so that a re-imported graph gives the same bits.",
    ),
    option(
        "--node-filter",
        key="projection.node_filter",
        metavar="CYPHER",
        help="Keep nodes n for which this holds, such as 'n.year > 2000'.",
    ),
    option(
        "--relationship-filter",
        key="projection.relationship_filter",
        metavar="CYPHER",
        help="Keep relationships r for which this holds, such as 'r.score > 0.5'.",
    ),
)


AUTO = "auto"
CHOOSABLE = ("alpha", "window_size", "negative_exponent", "sigma", "learning_rate")
_LARGEST_SIZE = 2**60
COORDINATES = ("poincare", "hyperboloid", "klein")


class _OrAuto(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on only
    """A number in a range, or the word "auto": the parameter is then chosen for the graph."""

    name = "number or auto"

    def __init__(self, numbers: click.ParamType[Any]) -> None:
        self._numbers = numbers

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return "auto", or what the range makes of the value."""
        if value == AUTO:
            return AUTO
        try:
            return self._numbers.convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}; or give auto", param, ctx)


class _Bytes(click.ParamType):  # type: ignore[type-arg]
    """A size: a number and one of KB, MB, GB, TB, in powers of 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return bytes."""
        if isinstance(value, int):
            return value
        parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?\s*", str(value), re.IGNORECASE)
        if parts is None or float(parts[1]) == 0:
            self.fail(f"{value!r} is not a size: give a number above 0 with KB, MB, GB or TB", param, ctx)
        size = float(parts[1]) * 1024 ** ("KMGT".index(parts[2].upper()) + 1 if parts[2] else 0)
        if size > _LARGEST_SIZE:
            self.fail(f"it must be at most {_LARGEST_SIZE // 1024**4:,} TB", param, ctx)
        return int(size)


def _heat_option(*names: str, default: Any, kind: Any, text: str) -> Decorator[Function]:
    name = names[0].removeprefix("--").replace("-", "_")
    if name in CHOOSABLE:
        kind, text = _OrAuto(kind), f"{text} Or auto."
    show: dict[str, Any] = {"show_default": True} if default is not None else {}
    metavar = "N" if isinstance(kind, Count) or name == "window_size" else "X"
    return option(
        *names, name, key=f"heat.{name}", type=kind, metavar=metavar, default=default, help=text, **show
    )


_COUNT = Count(min=1)
_ABOVE_0 = Number(min=0, min_open=True)
_SHARE = Number(0, 1)

threads_option: Decorator[Any] = _heat_option(
    "--n-threads",
    "--threads",
    default=None,
    kind=_COUNT,
    text="Threads to use.  [default: the processors it may use]",
)

heat_options: Decorator[Any] = stack(
    _heat_option("--n-components", "--dimension", default=10, kind=_COUNT, text="Dimension of the space."),
    _heat_option(
        "--alpha",
        default=0.2,
        kind=_SHARE,
        text="Share of steps that follow attributes; 0 is topology only.",
    ),
    _heat_option(
        "--attribute-neighbours",
        default=None,
        kind=_COUNT,
        text="Teleport only to so many most similar nodes, found approximately (needs pynndescent).  "
        "[default: to all, exactly]",
    ),
    _heat_option("--sigma", default=1.0, kind=_ABOVE_0, text="Gaussian width on the hyperbolic distance."),
    _heat_option("--walks-per-node", default=10, kind=_COUNT, text="Walks from every node."),
    _heat_option("--walk-length", default=80, kind=Count(min=2), text="Nodes in a walk."),
    _heat_option("--window-size", default=3, kind=_COUNT, text="Most steps between the nodes of a pair."),
    _heat_option("--n-negatives", default=10, kind=_COUNT, text="Negative samples for a pair."),
    _heat_option(
        "--negative-exponent", default=0.5, kind=_SHARE, text="Exponent on counts when negatives are drawn."
    ),
    _heat_option("--learning-rate", default=0.05, kind=_ABOVE_0, text="First learning rate; falls to 0."),
    _heat_option(
        "--batch-size",
        default=None,
        kind=_COUNT,
        text="Source positions in a batch.  [default: 320, or N / 96 up to 1,280]",
    ),
    _heat_option("--n-epochs", default=1, kind=_COUNT, text="Passes over the walks."),
    option(
        "--refine/--no-refine",
        key="heat.refine",
        default=True,
        show_default=True,
        help="Set trained points right: a little towards their neighbours, and to radii by degree.",
    ),
    _heat_option(
        "--time-limit",
        default=None,
        kind=_ABOVE_0,
        text="Seconds after which a training ends with what it has learnt.  [default: none]",
    ),
    threads_option,
    _heat_option(
        "--random-state",
        "--seed",
        default=None,
        kind=Count(min=0, largest=None),
        text="Seed: the same graph, options and seed give the same bits.  [default: drawn, and recorded]",
    ),
)

choose_option: Decorator[Any] = option(
    "--choose-seconds",
    key="choose.seconds",
    type=_ABOVE_0,
    metavar="X",
    help="Time for choosing what is auto.  [default: about 5 trainings for each]",
)

memory_option: Decorator[Any] = option(
    "--memory-limit",
    key="limits.memory",
    type=_Bytes(),
    metavar="SIZE",
    help="Refuse a run that would need more, such as 4GB or 500MB.  [default: what is free]",
)

index_switch: Decorator[Any] = option(
    "--index/--no-index",
    "index",
    key="write.index",
    default=True,
    show_default=True,
    help="Make a vector index over the coordinates, for nearest nodes.",
)

checkpoint_option: Decorator[Any] = option(
    "--checkpoint",
    key=None,
    heading="Writing",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep what was computed there until it is published; another attempt goes on from it.",
)

recipe_option: Decorator[Any] = option(
    "--new-recipe",
    key=None,
    heading="Embedding",
    is_flag=True,
    help="Learn anew how properties become attributes.  [default: as in the published run, if it fits]",
)

links_switch: Decorator[Any] = option(
    "--links/--no-links",
    "links",
    key="links.enabled",
    default=True,
    show_default=True,
    help="Predict links and write them too.",
)
link_options: Decorator[Any] = stack(
    option(
        "--k",
        "--links-k",
        "k",
        key="links.k",
        type=_COUNT,
        metavar="N",
        default=10,
        show_default=True,
        help="Predicted links for each node.",
    ),
    option("--top", key="links.top", type=_COUNT, metavar="N", help="Keep only so many, the nearest pairs."),
    option("--source-label", key="links.source_label", metavar="LABEL", help="One end has this label."),
    option("--target-label", key="links.target_label", metavar="LABEL", help="The other end has this label."),
    option(
        "--min-degree",
        key="links.min_degree",
        type=Count(min=0),
        metavar="N",
        default=0,
        show_default=True,
        help="Both ends have at least so many neighbours.",
    ),
    option(
        "--max-degree",
        key="links.max_degree",
        type=_COUNT,
        metavar="N",
        help="And at most so many.",
    ),
    option(
        "--probability/--no-probability",
        key="links.probability",
        default=True,
        show_default=True,
        help="Give each link a probability; it takes a second training without a tenth of the edges.",
    ),
    option(
        "--score",
        key="links.score",
        type=click.Choice(("distance", "combined")),
        help="What ranks the links: distance alone, or together with degrees, common neighbours, attributes. "
        "[default: distance; `heat links`: as the run]",
    ),
)

model_option: Decorator[Any] = option(
    "--model",
    key="write.model",
    metavar="NAME",
    default="heat",
    show_default=True,
    help="Name under which the embedding is published.",
)
link_type_option: Decorator[Any] = option(
    "--link-type",
    key="write.link_type",
    metavar="TYPE",
    help="Type of predicted relationships.  [default: <MODEL>_PREDICTED]",
)
names_options: Decorator[Any] = stack(
    model_option,
    option(
        "--coordinates",
        key="write.coordinates",
        type=click.Choice(COORDINATES),
        default="poincare",
        show_default=True,
        help="What to store as coordinates.",
    ),
    option(
        "--write-property",
        key="write.write_property",
        metavar="PROPERTY",
        help="Node property for coordinates.  [default: <model>Embedding]",
    ),
    option(
        "--radius-property",
        key="write.radius_property",
        metavar="PROPERTY",
        help="Node property for the radius.  [default: <model>Radius]",
    ),
    option(
        "--run-property",
        key="write.run_property",
        metavar="PROPERTY",
        help="Node property for the run's id.  [default: <model>Run]",
    ),
    option(
        "--vector-property",
        key="write.vector_property",
        metavar="PROPERTY",
        help="Node property for what the vector index holds.  [default: <model>Vector]",
    ),
    link_type_option,
)
overwrite_option: Decorator[Any] = option(
    "--overwrite",
    key=None,
    heading="Writing",
    is_flag=True,
    help="Write even where properties of these names hold values that no run of ours wrote.",
)
write_options: Decorator[Any] = stack(
    option(
        "--dry-run",
        key=None,
        heading="Writing",
        is_flag=True,
        help="Do all but write; say what would be written.",
    ),
    overwrite_option,
)


_SHARE = Number(min=0, max=1)

records_option: Decorator[Any] = option(
    "--records",
    key="refresh.records",
    type=Count(min=0),
    metavar="N",
    default=100,
    show_default=True,
    help="Nodes of earlier runs to keep.",
)
_refresh_options: Decorator[Any] = stack(
    option(
        "--local-limit",
        key="refresh.local_limit",
        type=_ABOVE_0,
        metavar="X",
        default=0.2,
        show_default=True,
        help="Train only new nodes and those at changes while they are at most this share.",
    ),
    option(
        "--warm-limit",
        key="refresh.warm_limit",
        type=_ABOVE_0,
        metavar="X",
        default=0.3,
        show_default=True,
        help="Start warm while at most this share has changed, counted since the last full run.",
    ),
    option(
        "--max-auroc-drop",
        key="refresh.max_auroc_drop",
        type=_SHARE,
        metavar="X",
        default=0.02,
        show_default=True,
        help="Reject a version whose held-out AUROC is lower than the last run's by more.",
    ),
    option(
        "--max-below-degree",
        key="refresh.max_below_degree",
        type=_SHARE,
        metavar="X",
        default=0.1,
        show_default=True,
        help="Reject one whose held-out AUROC is lower than that of degrees by more.",
    ),
    option(
        "--min-overlap",
        key="refresh.min_overlap",
        type=_SHARE,
        metavar="X",
        default=0.05,
        show_default=True,
        help="Reject one in which a smaller share of the 10 nearest nodes stayed the same.",
    ),
    option(
        "--max-move",
        key="refresh.max_move",
        type=_ABOVE_0,
        metavar="X",
        help="Reject one in which nodes moved by more in the mean, in hyperbolic distance.  [default: none]",
    ),
    option(
        "--lease-seconds",
        key="refresh.lease_seconds",
        type=Number(min=1),
        metavar="X",
        default=60.0,
        show_default=True,
        help="After so long without a sign of life another process may take over.",
    ),
    records_option,
)

mode_options: Decorator[Any] = stack(
    option(
        "--mode",
        key=None,
        heading="Refreshing",
        type=click.Choice(("auto", "local", "warm", "full")),
        default="auto",
        show_default=True,
        help="What to do; auto decides by what has changed.",
    ),
    option(
        "--dry-run",
        key=None,
        heading="Refreshing",
        is_flag=True,
        help="Only read, and say what would be done.",
    ),
)

job_options: Decorator[Any] = stack(
    projection_options,
    heat_options,
    choose_option,
    memory_option,
    _refresh_options,
    links_switch,
    link_options,
    names_options,
    index_switch,
    overwrite_option,
)
"""All that `arguments.job_from` needs."""
