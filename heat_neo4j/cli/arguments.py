"""Build objects of the Python API from command-line options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from heat_neo4j.cli.output import as_options
from heat_neo4j.cli.settings import settings_of
from heat_neo4j.cli.signatures import source_of

if TYPE_CHECKING:
    from heat_neo4j.database.naming import WriteNames
    from heat_neo4j.database.projection import Projection
    from heat_neo4j.heat import HEAT
    from heat_neo4j.pipeline.job import Job, LinkOptions

GATE = tuple(source_of("pipeline.gate", "Gate").parameters)
Result = TypeVar("Result")

HEAT_FIELDS = tuple(setting.name for setting in settings_of("heat"))


def _section(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a section of the settings, by name."""
    return {setting.name: options.get(setting.parameter) for setting in settings_of(name)}


def made(factory: Callable[..., Result], **arguments: Any) -> Result:
    """Call `factory`; convert its errors to usage errors."""
    try:
        return factory(**arguments)
    except (TypeError, ValueError) as error:
        raise click.UsageError(as_options(str(error))) from error


def projection_from(options: Mapping[str, Any]) -> Projection:
    """Return the projection that the options describe; no label at all means every node."""
    from heat_neo4j.database.projection import Projection

    arguments = _section("projection", options)
    for name in ("labels", "relationships"):
        arguments[name] = list(arguments[name]) or None
    arguments["label_attributes"] = {
        label: [name for other, name in options["label_attributes"] if other == label]
        for label, _ in options["label_attributes"]
    }
    arguments["key"] = key_from("--key", options["key"])
    arguments["type_weights"] = dict(options["type_weights"])
    if len(arguments["type_weights"]) < len(options["type_weights"]):
        raise click.UsageError("--type-weight: a type is named twice")
    return made(Projection, **arguments)


def key_from(flag: str, given: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """Return the property of each label; the one under "" is for nodes with none of them."""
    key: dict[str, str] = {}
    for label, name in given:
        if label in key:
            of = f"label {label!r} has" if label else "nodes of any label have"
            raise click.UsageError(
                f"{flag}: {of} both {key[label]!r} and {name!r}: give LABEL=PROPERTY, each label once"
            )
        key[label] = name
    return key


def heat_from(options: Mapping[str, Any]) -> HEAT:
    """Return the untrained estimator that the options describe."""
    from heat_neo4j.heat import HEAT

    model = made(HEAT, **{name: options[name] for name in HEAT_FIELDS})
    made(model.check_parameters)
    return model


def run_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `pipeline.embed` and `Job`."""
    same = ("coordinates", "overwrite", "index")
    return {
        "projection": projection_from(options),
        "model": heat_from(options),
        "names": names_from(options),
        "links": links_from(options) if options["links"] else None,
        "memory_limit": memory_limit(options),
        **{name: options[name] for name in same},
    }


def memory_limit(options: Mapping[str, Any]) -> int:
    """Return the bytes that a run may use: the limit, or all free memory."""
    from heat_neo4j._utils.memory import free_memory

    limit: int | None = options["memory_limit"]
    return free_memory() if limit is None else limit


def job_from(options: Mapping[str, Any]) -> Job:
    """Return the job that the options of ``heat refresh`` describe."""
    from heat_neo4j.pipeline.gate import Gate
    from heat_neo4j.pipeline.job import Job, Limits

    return made(
        Job,
        **run_arguments(options),
        limits=made(Limits, local=options["local_limit"], warm=options["warm_limit"]),
        gate=made(Gate, **{name: options[name] for name in GATE}),
        lease_seconds=options["lease_seconds"],
        records=options["records"],
        follows=not_given(),
    )


def not_given() -> frozenset[str]:
    """Return the settings that neither the command line nor heat.toml gives, by section and field."""
    context = click.get_current_context()
    return frozenset(
        setting.key
        for setting in settings_of("projection", "heat", "links", "write")
        if context.get_parameter_source(setting.parameter) is ParameterSource.DEFAULT
    )


def links_from(options: Mapping[str, Any]) -> LinkOptions:
    """Return the requested `LinkOptions`."""
    from heat_neo4j.pipeline.job import LinkOptions

    arguments = _section("links", options)
    del arguments["enabled"]
    return made(LinkOptions, **arguments)


def names_from(options: Mapping[str, Any]) -> WriteNames:
    """Return the names to write under, which follow from the model's name."""
    from heat_neo4j.database.naming import WriteNames

    return made(WriteNames, model=options["model"])
