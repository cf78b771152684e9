"""Options of the commands that compute and write: the estimator's, the links', names in the graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar

import click

from heat_neo4j.cli.options import Count, Decorator, Number, option, stack

__all__ = [
    "checkpoint_option",
    "choose_option",
    "heat_options",
    "index_switch",
    "link_options",
    "link_type_option",
    "links_switch",
    "memory_option",
    "model_option",
    "names_options",
    "overwrite_option",
    "recipe_option",
    "threads_option",
    "write_options",
]

Function = TypeVar("Function", bound=Any)

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
