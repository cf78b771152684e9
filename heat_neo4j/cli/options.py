"""Command options: those of settings, and those that all commands share."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from heat_neo4j._utils.output_file import check_output
from heat_neo4j.cli.config import read_config
from heat_neo4j.cli.group import Option
from heat_neo4j.cli.output import AS_JSON, LOG_JSON, VERBOSITY
from heat_neo4j.cli.settings import HEADINGS, Level, Setting, flag_of, metavar_of, settings_of
from heat_neo4j.cli.signatures import FILE, Parameter, Source, source_of, verb
from heat_neo4j.cli.values import Keyed

FILE_OUT = click.Path(dir_okay=False, writable=True, path_type=Path)

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]


def option(*names: str, **arguments: Any) -> Decorator[Function]:
    """Declare an option that is no setting."""
    return click.option(*names, cls=Option, **arguments)


def caption_option(**arguments: Any) -> Decorator[Any]:
    """Declare the option for node names in pictures and pages."""
    text = "Node property that names nodes, or those with a label; repeat for more."
    return option(
        "--caption", type=Keyed(), multiple=True, metavar="[LABEL=]PROPERTY",
        help=f"{text}  [default: the projection's key]", **arguments,
    )  # fmt: skip


def stack(*decorators: Decorator[Function]) -> Decorator[Function]:
    """Return one decorator that lists the options in the order given."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def setting_options(*names: str, level: Level | None = None) -> Decorator[Any]:
    """Add the options of settings, given by section or key, to a command; `level` overrides theirs."""
    return stack(*[_option_of(setting, level or setting.level) for setting in settings_of(*names)])


def verb_options(name: str, *parameters: str, **arguments: Any) -> Decorator[Any]:
    """Give a command options for parameters of a verb; see `parameter_options`."""
    return parameter_options(verb(name), *parameters, **arguments)


def parameter_options(
    source: Source,
    *names: str,
    heading: str = "General",
    more: str = "",
    metavar: str | None = None,
    flags: Mapping[str, str] | None = None,
) -> Decorator[Any]:
    """Give a command options for parameters of a function; only --help-all shows those in `more`.

    `flags` overrides the usual names, `metavar` is the placeholder of strings.
    """
    return stack(*[
        _option_for(
            source.parameters[each], (flags or {}).get(each, flag_of(each)), heading=heading,
            level="more" if each in more.split() else "common", metavar=metavar,
        )
        for each in names
    ])  # fmt: skip


def _option_for(parameter: Parameter, flag: str, *, metavar: str | None, **arguments: Any) -> Decorator[Any]:
    kind, default = parameter.values, parameter.default
    if kind is click.BOOL:
        flag = flag if default is False else f"{flag}/--no-{flag[2:]}"
        arguments |= {"is_flag": True, "default": default, "show_default": bool(default)}
    else:
        metavar = metavar if metavar and kind is click.STRING else metavar_of(parameter.name, kind)
        arguments |= {"type": kind, "multiple": parameter.multiple, "metavar": metavar}
        arguments |= {} if default in (None, ()) else {"default": default}
    return option(*_flags(flag), parameter.name, help=parameter.help, **arguments)


def _flags(flag: str) -> list[str]:
    return ["-k", flag] if flag == "--k" else [flag]


def _option_of(setting: Setting, level: Level, **arguments: Any) -> Decorator[Any]:
    is_switch = setting.type is click.BOOL
    flag = f"{setting.flag}/--no-{setting.flag[2:]}" if is_switch else setting.flag
    if setting.default is not None:
        arguments["default"] = setting.default
    if not is_switch:
        arguments["type"] = setting.type
    return option(
        *_flags(flag), setting.parameter, key=setting.key, heading=HEADINGS[setting.section], level=level,
        help=setting.help, multiple=setting.multiple, metavar=setting.metavar, envvar=setting.envvar,
        **arguments,
    )  # fmt: skip


def _use_config(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Make the values of heat.toml the defaults of the command's options."""
    values = read_config(path)
    context.default_map = {
        parameter.name: _as_arguments(values[parameter.key], parameter.multiple)
        for parameter in context.command.params
        if isinstance(parameter, Option) and parameter.key in values and parameter.name is not None
    }
    return path


def _as_arguments(value: Any, multiple: bool) -> Any:
    """Convert a value of heat.toml to option values: a table becomes pairs."""
    if not isinstance(value, Mapping):
        return [value] if multiple and isinstance(value, str) else value
    lists = {name: item if isinstance(item, list) else [item] for name, item in value.items()}
    return [(name, item) for name, items in lists.items() for item in items]


def _into_meta(key: str) -> Callable[[click.Context, click.Parameter, int], None]:
    """Return a callback that puts an option's value where nested contexts and `output` see it."""

    def callback(context: click.Context, _: click.Parameter, value: int) -> None:
        context.meta[key] = value

    return callback


def checked_picture(_: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Check before the work that the picture can be drawn and written."""
    if path is not None:
        from heat_neo4j.plots import FORMATS, check_installed

        check_installed()
        flag = parameter.opts[0]
        if path.suffix.lower() not in FORMATS:
            raise click.UsageError(f"{flag} must end in {', '.join(FORMATS)}, got {path.name!r}")
        check_output(path, flag)
    return path


common_options: Decorator[Any] = stack(
    option("--config", type=FILE, envvar="HEAT_CONFIG", is_eager=True, expose_value=False,
           callback=_use_config,
           help="File with settings.  [env: HEAT_CONFIG; default: heat.toml, if there is one]"),
    option("-v", "--verbose", count=True, is_eager=True, expose_value=False, callback=_into_meta(VERBOSITY),
           help="Print more: -v the times of all stages, -vv also the traceback of an error."),
)  # fmt: skip
output_options: Decorator[Any] = stack(
    option("--json", "as_json", is_flag=True, expose_value=False, callback=_into_meta(AS_JSON),
           help="Print one JSON document on stdout."),
    common_options,
)  # fmt: skip
log_options: Decorator[Any] = stack(*[
    # Eager, so that mistakes in other options are told as JSON too; below --config, which may set it.
    _option_of(setting, setting.level, is_eager=True, expose_value=False, callback=_into_meta(LOG_JSON))
    for setting in settings_of("log")
])  # fmt: skip
header_option: Decorator[Any] = parameter_options(
    source_of("inputs.files", "read_graph_files"), "header", more="header"
)
database_options: Decorator[Any] = stack(setting_options("connection"), output_options)
model_options: Decorator[Any] = stack(setting_options("write.model"), database_options)
filter_options: Decorator[Any] = setting_options(
    "projection.node_filter", "projection.relationship_filter", level="more"
)
"""The filters of a published model, for commands that read its graph again."""
overwrite_option: Decorator[Any] = verb_options("embed", "overwrite", heading="Writing", more="overwrite")
dry_run_option: Decorator[Any] = verb_options("embed", "dry_run", heading="Writing")

job_options: Decorator[Any] = stack(
    setting_options("projection", "heat", "limits", "refresh", "links", "write"), overwrite_option
)
"""All that `arguments.job_from` needs."""
