"""Commands made of the methods of `Database`: options from their signatures, help from their docstrings."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from heat_neo4j.cli import COMMANDS
from heat_neo4j.cli.arguments import key_from, made, memory_limit
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import Decorator
from heat_neo4j.cli.output import Reporter, printed_as_json
from heat_neo4j.cli.settings import flag_of
from heat_neo4j.cli.signatures import Parameter, verb

Show = Callable[[Any, dict[str, Any]], None]


def verb_command(
    name: str,
    example: str,
    *decorators: Decorator[Any],
    group: click.Group | None = None,
    called: str = "",
    more: str = "",
    arguments: Sequence[str] = (),
    given: Callable[[dict[str, Any]], Mapping[str, Any]] = lambda options: {},
    check: Callable[[Any], None] = lambda found: None,
    document: Callable[[Any, dict[str, Any]], Any] = lambda found, options: found.to_dict(),
) -> Callable[[Show], click.Command]:
    """Return a decorator that turns a function showing a result into the command.

    Strings without a default, and `arguments`, are positional. `given` returns the arguments
    that no single option holds. With ``--json`` the `document` of the result is printed. `check` raises an
    error if the result is a failure. `called` is the command's name if it differs from the verb's; `more` is
    the end of its help.
    """
    source = verb(name)
    every = source.parameters.values()
    placed = [
        each for each in every if each.name in arguments or (each.required and each.annotation == "str")
    ]

    def decorate(show: Show) -> click.Command:
        def run(**options: Any) -> None:
            found = call(name, options, **given(options))
            if not printed_as_json(document(found, options)):
                show(found, options)
            check(found)

        command: Any = run
        for decorator in reversed(decorators):
            command = decorator(command)
        for each in reversed(placed):
            place = _place(each) if each.required else f"[{_place(each)}]"
            command = click.argument(each.name, metavar=place, required=each.required)(command)
        named: dict[str, list[str]] = {}
        for each in placed:
            named.setdefault(each.text, []).append(_place(each))
        places = (f"{', '.join(names)}: {text}" for text, names in named.items())
        title, *rest = source.text.split("\n\n")
        summary = COMMANDS.get(called or name, title) if group is None else title
        text = "\n\n".join([summary, *rest, *places, *([more] if more else [])]).replace("`", "")
        make = click.command if group is None else group.command
        return make(called or name, cls=HeatCommand, example=example, help=text)(command)

    return decorate


def _place(parameter: Parameter) -> str:
    return parameter.name.upper().removesuffix("_ID")


def call(name: str, options: Mapping[str, Any], **given: Any) -> Any:
    """Call a method of `Database` with the options that it takes, and the arguments `given`."""
    parameters = verb(name).parameters
    arguments = {own: _value(parameters[own], options[own]) for own in parameters if own in options}
    if "memory_limit" in arguments:
        arguments["memory_limit"] = memory_limit(options)
    with open_store(options) as store, Reporter() as progress:
        if "on_progress" in parameters:
            arguments["on_progress"] = progress
        return _function(name, store)(**{**arguments, **given})


def _function(name: str, store: Any) -> Callable[..., Any]:
    """Return a method of the database, without importing what others need."""
    source = verb(name)
    found: Any = importlib.import_module(f"heat_neo4j.{source.module}")
    if source.names[0] == "Database":
        return getattr(found.Database(store), name)  # type: ignore[no-any-return]
    for each in source.names:
        found = getattr(found, each)
    return functools.partial(found, store)


def _value(parameter: Parameter, value: Any) -> Any:
    """Return an option's value for Python; an empty list becomes the default."""
    if parameter.name in ("pattern", "patterns") and value:
        from heat_neo4j.patterns import check_pattern

        checked = [made(check_pattern, spec=each) for each in ([value] if isinstance(value, str) else value)]
        return checked[0] if isinstance(value, str) else checked
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    if parameter.annotation.startswith("Key "):
        return (key_from(flag_of(parameter.name), value) or None) if value else None
    return list(value) or parameter.default
