"""Every setting, declared once: options, heat.toml and the reference in docs/settings.md come from here.

The name of a setting is its key in heat.toml and its parameter in Python. Defaults are those of `Projection`,
`HEAT`, `LinkOptions` and `Gate`; only those that these do not have are declared here.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import click

from heat_neo4j._utils.validation import LONGEST_LEASE, MOST_COMPONENTS
from heat_neo4j.cli.values import Count, Duration, Keyed, Number, OrAuto, Pair, Size

Level = Literal["common", "more", "file"]
"""Where a setting is shown: by --help, by --help-all only, or nowhere, as only heat.toml sets it."""

HEADINGS = {
    "connection": "Connection",
    "projection": "Projection",
    "heat": "Embedding",
    "choose": "Embedding",
    "refresh": "Refreshing",
    "serve": "Serving",
    "log": "Logging",
    "limits": "Embedding",
    "write": "Writing",
    "links": "Predicted links",
}
"""The sections of heat.toml, each with its heading in the help."""


_DECLARED = {
    "projection": ("database/projection.py", "Projection"),
    "heat": ("embedding/estimator.py", "Embedder"),
    "links": ("pipeline/job.py", "LinkOptions"),
    "refresh": ("pipeline/gate.py", "Gate"),
}
"""The class whose parameters the settings of a section are."""


@cache
def _defaults(section: str) -> dict[str, Any]:
    """Return the defaults of a section that its class declares.

    They are read from its source: to import it would take longer than most commands do.
    """
    if section not in _DECLARED:
        return {}
    file, name = _DECLARED[section]
    module = ast.parse((Path(__file__).parents[1] / file).read_text(encoding="utf-8"))
    (found,) = (each for each in module.body if isinstance(each, ast.ClassDef) and each.name == name)
    declared = {key: value.value for key, value in _parameters(found) if isinstance(value, ast.Constant)}
    return {key: value for key, value in declared.items() if value is not None}


def _parameters(declared: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield name and default of each parameter of a class: a dataclass, or one with a constructor."""
    for node in declared.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.value
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            own = node.args
            yield from zip([each.arg for each in own.args[-len(own.defaults) :]], own.defaults, strict=True)
            yield from zip([each.arg for each in own.kwonlyargs], own.kw_defaults, strict=True)


@dataclass(frozen=True)
class Setting:
    """One setting, and the option that sets it."""

    key: str  # section and name in heat.toml, such as "heat.alpha"
    type: "click.ParamType[Any]"
    level: Level
    help: str  # it says the default if `default` does not
    default: Any = None
    flag: str = ""  # "--" and the name if not given
    parameter: str = ""  # what a command calls the value; the name if not given
    multiple: bool = False  # whether it may be repeated: heat.toml has a list or a table
    metavar: str | None = None
    envvar: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameter", self.parameter or self.name)
        object.__setattr__(self, "default", _defaults(self.section).get(self.name, self.default))
        object.__setattr__(self, "flag", self.flag or f"--{self.name.replace('_', '-')}")

    @property
    def section(self) -> str:
        """The section of heat.toml."""
        return self.key.split(".")[0]

    @property
    def name(self) -> str:
        """The key within the section."""
        return self.key.split(".")[1]

    @property
    def kind(self) -> str:
        """What heat.toml must have for it."""
        if isinstance(self.type, OrAuto):
            return f'{_kind(self.type.numbers)} or "auto"'
        if isinstance(self.type, Pair):
            return f"a table of {'numbers' if isinstance(self.type.value_type, Number) else 'lists of texts'}"
        if isinstance(self.type, Keyed):
            return "text or a table of texts"
        return "a list of texts" if self.multiple else _kind(self.type)


def _kind(values: "click.ParamType[Any]") -> str:
    if isinstance(values, Count):
        return "a whole number"
    if isinstance(values, Number):
        return "a number"
    return "true or false" if values is click.BOOL else "text"


_TEXT = click.STRING
_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_COUNT = Count(min=1)
_NATURAL = Count(min=0)
_ABOVE_0 = Number(min=0, min_open=True)
_SHARE = Number(0, 1)


def _number(key: str, kind: "click.ParamType[Any]", level: Level, text: str, default: Any = None) -> Setting:
    inner = kind.numbers if isinstance(kind, OrAuto) else kind
    text = f"{text} Or auto." if isinstance(kind, OrAuto) else text
    return Setting(key, kind, level, text, default, metavar="N" if isinstance(inner, Count) else "X")


def _property(name: str, text: str) -> Setting:
    return Setting(f"write.{name}", _TEXT, "file", text, metavar="PROPERTY")


SETTINGS = (
    Setting("connection.uri", _TEXT, "common", metavar="URI", envvar="NEO4J_URI",
            help="Address, such as neo4j://localhost:7687.  [env: NEO4J_URI; default: the local server]"),
    Setting("connection.username", _TEXT, "more", metavar="NAME", envvar="NEO4J_USERNAME",
            help="Database user.  [env: NEO4J_USERNAME; default: neo4j]"),
    Setting("connection.password_file", _FILE, "more",
            help="File that contains only the password.  "
                 "[env: NEO4J_PASSWORD, the password itself]"),
    Setting("connection.database", _TEXT, "more", metavar="NAME", envvar="NEO4J_DATABASE",
            help="Database name.  [env: NEO4J_DATABASE; default: the user's home database]"),
    Setting("projection.labels", _TEXT, "common", flag="--label", multiple=True, metavar="LABEL",
            help="Nodes with this label; repeat for more.  [default: all nodes]"),
    Setting("projection.relationships", _TEXT, "common", flag="--relationship", multiple=True, metavar="TYPE",
            help="Relationships of this type; repeat for more.  [default: all but predicted links]"),
    Setting("projection.weight", _TEXT, "common", metavar="PROPERTY",
            help="Relationship property that holds the weight.  [default: every relationship weighs 1]"),
    _number("projection.default_weight", Number(min=0), "more",
            "Weight of a relationship that lacks the weight property."),
    Setting("projection.aggregation", click.Choice(("sum", "min", "max", "count", "single")), "more",
            "How weights of parallel relationships are combined."),
    Setting("projection.time", _TEXT, "more", metavar="PROPERTY",
            help="Relationship property with a date, datetime or number; used to evaluate on the latest "
                 "edges."),
    Setting("projection.attributes", _TEXT, "common", flag="--attribute", multiple=True, metavar="PROPERTY",
            help="Node property to use as attribute; repeat for more."),
    Setting("projection.text", _TEXT, "common", multiple=True, metavar="PROPERTY",
            help="Node property whose words to use; repeat for more."),
    Setting("projection.label_attributes", Pair(_TEXT), "more", flag="--label-attribute", multiple=True,
            metavar="LABEL=PROPERTY",
            help="Attribute of nodes with this label only; repeat for more."),
    Setting("projection.type_weights", Pair(_ABOVE_0), "more", flag="--type-weight", multiple=True,
            metavar="TYPE=X",
            help="Factor for the weights of this relationship type; repeat for more.  [default: 1]"),
    _number("projection.max_categories", _COUNT, "more",
            "Maximum number of columns for a property of strings; rarer values share one."),
    Setting("projection.key", Keyed(), "common", multiple=True, metavar="[LABEL=]PROPERTY",
            help="Unique node property that identifies nodes, or those with a label; repeat for more "
                 "labels."),
    Setting("projection.node_filter", _TEXT, "more", metavar="CYPHER",
            help="Keep nodes n for which this holds, such as 'n.year > 2000'."),
    Setting("projection.relationship_filter", _TEXT, "more", metavar="CYPHER",
            help="Keep relationships r for which this holds, such as 'r.score > 0.5'."),
    _number("heat.n_components", Count(min=1, largest=MOST_COMPONENTS), "common",
            f"Dimension of the space, at most {MOST_COMPONENTS:,}."),
    _number("heat.alpha", OrAuto(_SHARE), "common",
            "Share of steps that follow attributes; 0 is topology only."),
    _number("heat.forward", _SHARE, "file",
            "Weight of a step along a relationship; a step back weighs 1 - forward."),
    _number("heat.type_balance", _SHARE, "file",
            "0: steps choose relationships by weight; 1: they first choose a type, all types equally."),
    _number("heat.sigma", OrAuto(_ABOVE_0), "more", "Width of the Gaussian on hyperbolic distance."),
    _number("heat.walks_per_node", _COUNT, "more", "Walks from every node."),
    _number("heat.walk_length", Count(min=2), "more", "Nodes in a walk."),
    _number("heat.window_size", OrAuto(_COUNT), "more", "Largest number of steps in a pair."),
    _number("heat.n_negatives", _COUNT, "more", "Negative samples per pair."),
    _number("heat.negative_exponent", OrAuto(_SHARE), "more",
            "Exponent of counts when negatives are drawn."),
    _number("heat.learning_rate", OrAuto(_ABOVE_0), "more",
            "Initial learning rate, 1.7 times as large in buckets; falls to 0."),
    _number("heat.batch_size", _COUNT, "file",
            "Source positions in a batch.  [default: 320, or N / 96 up to 1,280]"),
    _number("heat.n_epochs", _COUNT, "more", "Passes over the walks."),
    _number("heat.n_parts", _COUNT, "file",
            "Parts of the nodes for training in buckets; 1 trains in batches.  [default: by number of "
            "nodes]"),
    Setting("heat.refine", click.BOOL, "more",
            "Move trained points a little towards their neighbours, and adjust radii to degrees."),
    _number("heat.time_limit", _ABOVE_0, "more",
            "Stop training after this many seconds and keep the result.  [default: none]"),
    _number("heat.n_threads", _COUNT, "more", "Threads to use.  [default: the processors it may use]"),
    Setting("heat.scratch", _FOLDER, "more", metavar="FOLDER",
            help="Folder to train over files, in little memory; a killed run continues from them."),
    Setting("heat.scheduler", _TEXT, "more", metavar="ADDRESS",
            help="Dask scheduler, such as tcp://host:8786; its workers share --scratch."),
    _number("heat.random_state", Count(min=0, largest=None), "common",
            "Seed: the same graph, options and seed give the same bits.  [default: drawn, and recorded]"),
    Setting("choose.seconds", _ABOVE_0, "more", flag="--choose-seconds", parameter="choose_seconds",
            metavar="X", help="Seconds to choose auto parameters.  [default: about 5 trainings for each]"),
    _number("refresh.local_limit", _ABOVE_0, "file",
            "Train only new and changed nodes while they are at most this share.", 0.2),
    _number("refresh.warm_limit", _ABOVE_0, "file",
            "Start warm while at most this share has changed since the last full run.", 0.3),
    _number("refresh.max_auroc_drop", _SHARE, "file",
            "Reject a version if its held-out AUROC falls by more than this."),
    _number("refresh.max_below_degree", _SHARE, "file",
            "Reject a version if its held-out AUROC is below that of degrees by more than this."),
    _number("refresh.min_overlap", _SHARE, "file",
            "Reject a version if a smaller share of the 10 nearest nodes stayed the same."),
    _number("refresh.max_move", _ABOVE_0, "file",
            "Reject a version if nodes moved farther than this on average.  [default: none]"),
    _number("refresh.lease_seconds", Number(min=1, max=LONGEST_LEASE), "file",
            "Seconds after which another process may take over a silent one.", 60.0),
    _number("refresh.records", _NATURAL, "more", "Number of records of earlier runs to keep.", 100),
    Setting("serve.every", Duration(), "common", metavar="TIME",
            help="Refresh now, and so often: 90s, 15m, 2h, 1d."),
    Setting("serve.cron", _TEXT, "common", metavar="EXPRESSION",
            help="Refresh by a cron expression of five fields, in local time (TZ)."),
    Setting("serve.give_up_after", Duration(), "file", "How long to wait for a server that is away.", "1d"),
    Setting("serve.health_file", _FILE, "common", metavar="FILE",
            help="Write a sign of life there every few seconds."),
    Setting("serve.metrics_file", _FILE, "file", metavar="FILE",
            help="Write metrics there, for node_exporter, which reads names that end in .prom."),
    _number("serve.metrics_port", Count(min=1, max=65_535), "file",
            "Answer with metrics, for Prometheus, at this port of 127.0.0.1."),
    Setting("log.json", click.BOOL, "more", flag="--log-json", parameter="log_json", envvar="HEAT_LOG_JSON",
            help="Log to stderr as JSON, one object per line.  [env: HEAT_LOG_JSON]", default=False),
    Setting("limits.memory", Size(), "more", flag="--memory-limit", parameter="memory_limit", metavar="SIZE",
            help="Refuse a run that would need more memory, such as 4GB or 500MB.  [default: what is free]"),
    Setting("write.model", _TEXT, "common", "Name under which the embedding is published.", "heat",
            metavar="NAME"),
    Setting("write.coordinates", click.Choice(("poincare", "hyperboloid", "klein")), "more",
            "Coordinates to store.", "poincare"),
    _property("write_property", "Node property for coordinates.  [default: <model>Embedding]"),
    _property("radius_property", "Node property for the radius.  [default: <model>Radius]"),
    _property("run_property", "Node property for the run's id.  [default: <model>Run]"),
    _property("vector_property", "Node property for points of the Poincare ball, beside others.  "
                                 "[default: <model>Vector]"),
    Setting("write.index", click.BOOL, "more",
            "Create a vector index over the coordinates, to find nearest nodes.", True),
    Setting("write.link_type", _TEXT, "file", metavar="TYPE",
            help="Type of predicted relationships.  [default: <MODEL>_PREDICTED]"),
    Setting("links.enabled", click.BOOL, "common", flag="--links", parameter="links",
            help="Predict links and write them too.", default=True),
    _number("links.k", _COUNT, "more", "Links for each node; the patterns of its label share them."),
    _number("links.top", _COUNT, "more",
            "Maximum number of links of each pattern.  [default: as many as it has relationships]"),
    Setting("links.patterns", _TEXT, "common", flag="--predict", multiple=True, metavar="PATTERN",
            help="What to predict, such as 'User-RATED->Movie'; * is any name; repeat for more.  "
                 "[default: the graph's patterns, except rare ones]"),
    _number("links.min_degree", _NATURAL, "more", "Minimum number of neighbours of both ends."),
    _number("links.max_degree", _COUNT, "more", "Maximum number of neighbours of both ends."),
    _number("links.min_probability", _SHARE, "more", "Leave out links that are less probable."),
    Setting("links.rules", click.BOOL, "more",
            "Drop links that your relationships rule out, such as a second director of a film."),
    Setting("links.score", click.Choice(("combined", "distance")), "more",
            "combined: distances, degrees, paths and attributes, with probabilities; needs a second "
            "training. distance: the distance alone."),
)  # fmt: skip
"""All settings, in the order of the help."""


def settings_of(*names: str) -> list[Setting]:
    """Return the settings of the sections or keys, in the order given; a KeyError if there is none such."""
    chosen = [
        (name, setting) for name in names for setting in SETTINGS if name in (setting.section, setting.key)
    ]
    if missing := set(names) - {name for name, _ in chosen}:
        raise KeyError(*missing)
    return [setting for _, setting in chosen]
