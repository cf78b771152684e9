"""The objects of the Python API, made from what a command was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from heat_neo4j.database.naming import WriteNames
    from heat_neo4j.database.projection import Projection
    from heat_neo4j.embedding.estimator import HEAT
    from heat_neo4j.pipeline.embed import LinkOptions
    from heat_neo4j.pipeline.job import Job

__all__ = [
    "check_choose_seconds",
    "chosen_from",
    "heat_from",
    "job_from",
    "links_from",
    "made",
    "names_from",
    "projection_from",
]

PROJECTION_FIELDS = (
    "labels", "relationships", "weight", "default_weight", "aggregation", "time",
    "attributes", "text", "max_categories", "key", "node_filter", "relationship_filter",
)  # fmt: skip
HEAT_FIELDS = (
    "n_components", "alpha", "attribute_neighbours", "sigma", "walks_per_node", "walk_length",
    "window_size", "n_negatives",
    "negative_exponent", "learning_rate", "batch_size", "n_epochs", "refine", "time_limit", "n_threads",
    "random_state",
)  # fmt: skip
GATE_FIELDS = ("max_auroc_drop", "max_below_degree", "min_overlap", "max_move")
LINK_FIELDS = ("k", "top", "source_label", "target_label", "min_degree", "max_degree", "probability", "score")


def made(factory: Callable[..., Any], **arguments: Any) -> Any:
    """Call `factory`; an argument it refuses is a mistake on the command line."""
    try:
        return factory(**arguments)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error), click.get_current_context()) from error


def projection_from(options: Mapping[str, Any]) -> Projection:
    """Return the projection that the options describe; no label at all means every node."""
    from heat_neo4j.database.projection import Projection

    arguments = {name: options[name] for name in PROJECTION_FIELDS}
    for name in ("labels", "relationships"):
        arguments[name] = list(arguments[name]) or None
    arguments["label_attributes"] = {
        label: [name for other, name in options["label_attributes"] if other == label]
        for label, _ in options["label_attributes"]
    }
    arguments["type_weights"] = dict(options["type_weights"])
    if len(arguments["type_weights"]) < len(options["type_weights"]):
        raise click.UsageError("--type-weight: a type is named twice", click.get_current_context())
    projection: Projection = made(Projection, **arguments)
    return projection


def heat_from(options: Mapping[str, Any]) -> HEAT:
    """Return the untrained estimator that the options describe; what is to be chosen has its default."""
    from heat_neo4j.embedding.estimator import HEAT

    chosen = chosen_from(options)
    model: HEAT = made(HEAT, **{name: options[name] for name in HEAT_FIELDS if name not in chosen})
    made(model.check_parameters)
    return model


def chosen_from(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters that are to be chosen for the graph."""
    return [name for name in HEAT_FIELDS if options[name] == "auto"]


def check_choose_seconds(seconds: float | None, options: Mapping[str, Any]) -> None:
    """Refuse a time for choosing where nothing is to be chosen."""
    context = click.get_current_context()
    from_command_line = context.get_parameter_source("choose_seconds") is ParameterSource.COMMANDLINE
    if seconds is not None and from_command_line and not chosen_from(options):
        raise click.UsageError("--choose-seconds: no parameter is auto, so nothing is chosen", context)


def job_from(options: Mapping[str, Any]) -> Job:
    """Return what the options of ``heat refresh`` ask to be kept fresh."""
    from heat_neo4j.cli.output import free_memory
    from heat_neo4j.pipeline.gate import Gate
    from heat_neo4j.pipeline.job import Job
    from heat_neo4j.pipeline.plan import Limits

    limit = options["memory_limit"]
    check_choose_seconds(options["choose_seconds"], options)
    gate = {name: options[name] for name in GATE_FIELDS}
    job: Job = made(
        Job,
        projection=projection_from(options),
        model=heat_from(options),
        names=names_from(options),
        coordinates=options["coordinates"],
        links=links_from(options) if options["links"] else None,
        choose=chosen_from(options),
        choose_seconds=options["choose_seconds"],
        memory_limit=free_memory() if limit is None else limit,
        overwrite=options["overwrite"],
        index=options["index"],
        limits=made(Limits, local=options["local_limit"], warm=options["warm_limit"]),
        gate=made(Gate, **gate),
        lease_seconds=options["lease_seconds"],
        records=options["records"],
    )
    return job


def links_from(options: Mapping[str, Any]) -> LinkOptions:
    """Return which links the options ask for."""
    from heat_neo4j.pipeline.embed import LinkOptions

    links: LinkOptions = made(LinkOptions, **{name: options[name] for name in LINK_FIELDS})
    return links


def names_from(options: Mapping[str, Any]) -> WriteNames:
    """Return the names to write under; those not given follow from the model's name."""
    from heat_neo4j.database.naming import WriteNames

    given = {
        "embedding": options["write_property"],
        "radius": options["radius_property"],
        "run": options["run_property"],
        "vector": options["vector_property"],
        "link_type": options["link_type"],
    }
    chosen = {field: name for field, name in given.items() if name is not None}
    names: WriteNames = made(WriteNames, model=options["model"], **chosen)
    return names
