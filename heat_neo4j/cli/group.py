"""The click classes: commands imported when used, options by heading, every error one line."""

import importlib
import logging
import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click

from heat_neo4j._utils.display import did_you_mean, printable
from heat_neo4j.cli.output import (
    FLAGS,
    LOG_MODEL,
    VERBOSITY,
    Log,
    as_options,
    log_lines,
    print_line,
    print_lines,
    remembered_interrupts,
)
from heat_neo4j.cli.settings import Level
from heat_neo4j.errors import HeatError
from heat_neo4j.errors.redaction import redacted

HELP_ALL = "heat.help_all"  # key of whether the help lists all options, in the context's meta
NO_HOMES: Mapping[str, str] = MappingProxyType({})
_SYNONYMS = {
    "--dim": "--n-components", "--dimension": "--n-components", "--dimensions": "--n-components",
    "--limit": "--k", "--pattern": "--predict", "--property": "--attribute", "--seed": "--random-state",
    "--threshold": "--min-probability", "--top": "--k",
}  # fmt: skip
INTERRUPTED = 130  # the shell's exit code for a program that Ctrl-C ended: 128 + SIGINT


class Failure(click.ClickException):
    """The end of a command: one line on stderr and an exit code."""

    def __init__(self, message: str, exit_code: int, log: Log | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]
        self._log = log or Log()

    def show(self, file: Any = None) -> None:
        """Print the line."""
        if file is None:
            self._log(self.format_message(), level="error", event="failed", exit_code=self.exit_code)
        else:
            print_line(f"heat: {self.format_message()}", file=file)


class Option(click.Option):
    """An option whose help shows its default; the help lists it under a heading.

    `level`: listed by ``--help``, only by ``--help-all``, or by neither (set in heat.toml only).
    `key` is its dotted name there, such as ``"heat.alpha"``.
    """

    def __init__(
        self,
        *args: Any,
        heading: str = "General",
        level: Level = "common",
        key: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("show_default", kwargs.get("default") is not None)
        super().__init__(*args, **kwargs)
        self.hidden = level == "file"
        self.heading, self.level, self.key = heading, level, key

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the command line set the option, unless only heat.toml can."""
        if self.level != "file":
            super().add_to_parser(parser, ctx)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return what an error calls the option."""
        if self.level == "file" and self.key is not None:
            section, name = self.key.split(".")
            return f"[{section}] {name} of heat.toml"
        return super().get_error_hint(ctx)  # type: ignore[arg-type,unused-ignore]

    @property
    def spelling(self) -> str:
        """What a message calls the option."""
        return self.get_error_hint(None) if self.level == "file" else max(self.opts, key=len)


def _show_all(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set and not context.resilient_parsing:
        context.meta[HELP_ALL] = True
        print_lines(context.get_help())
        context.exit()


class HeatCommand(click.Command):
    """A command whose help groups its options and ends with a worked example, printed as it is."""

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example
        self.n_more = sum(getattr(parameter, "level", "") == "more" for parameter in self.params)
        if self.n_more:
            text = "Show this message with all options and exit."
            flag: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
            self.params.append(Option(["--help-all"], help=text, callback=_show_all, **flag))

    def get_help(self, ctx: click.Context) -> str:
        """Return the help, in which defaults come from heat.toml."""
        return "\n".join(map(printable, redacted(super().get_help(ctx)).split("\n")))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; an option that only heat.toml can set is named."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            for parameter in self.params:
                if isinstance(parameter, Option) and parameter.hidden and error.option_name in parameter.opts:
                    hint = parameter.get_error_hint(ctx)
                    raise click.UsageError(f"No such option: {error.option_name}; set {hint}", ctx) from error
            takes_nodes = any(isinstance(parameter, click.Argument) for parameter in self.params)
            if takes_nodes and error.option_name.lstrip("-").isdigit():
                hint = "a key that begins with - goes last, after --"
                raise click.UsageError(f"No such option: {error.option_name}; {hint}", ctx) from error
            known = {name for parameter in self.params for name in parameter.opts}
            meant = _SYNONYMS.get(error.option_name)
            if meant in known and not any(name.startswith(error.option_name) for name in known):
                raise click.UsageError(f"No such option: {error.option_name}; use {meant}", ctx) from error
            if any("--param" in parameter.opts for parameter in self.params):
                hint = f"a parameter of the query is -p {error.option_name.lstrip('-')}=VALUE"
                raise click.UsageError(f"No such option: {error.option_name}; {hint}", ctx) from error
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; its log records the model, and its messages name its options."""
        ctx.meta[LOG_MODEL] = ctx.params.get("model")
        ctx.meta[FLAGS] = {each.name: each.spelling for each in self.params if isinstance(each, Option)}
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by heading, in the order in which the headings first appear."""
        headings: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            is_listed = ctx.meta.get(HELP_ALL) or getattr(parameter, "level", "common") == "common"
            if record is not None and is_listed and isinstance(parameter, click.Option):
                headings.setdefault(getattr(parameter, "heading", "General"), []).append(record)
        for heading in sorted(headings, key="General".__eq__):  # stable: only General moves, to the end
            with formatter.section(heading):
                formatter.write_dl(headings[heading])
        if self.n_more and not ctx.meta.get(HELP_ALL):
            formatter.write_paragraph()
            formatter.write_text(f"{self.n_more} more options: {ctx.command_path} --help-all")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the worked example."""
        with formatter.section("Example"):
            for line in self.example.strip().splitlines():
                formatter.write(f"  {line}\n")


class _SuggestingGroup(click.Group):
    """A group that suggests a similar name for an unknown command."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that the arguments begin with."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            suggestion = did_you_mean(args[0], self.list_commands(ctx))
            if not suggestion:
                raise
            raise click.UsageError(f"No such command {args[0]!r}{suggestion}", ctx) from error


class HeatSubgroup(HeatCommand, _SuggestingGroup):
    """A `HeatCommand` that does something by itself and has subcommands."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the subcommands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


class HeatGroup(_SuggestingGroup):
    """The top-level group: imports commands when they are used; whatever goes wrong becomes a `Failure`.

    `lazy` has the line that the group's help shows for each command. Command ``x`` is the attribute ``x`` of
    the module ``heat_neo4j.cli.commands.x``, unless `homes` names another module.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, str], homes: Mapping[str, str] = NO_HOMES, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy, self.homes = lazy, homes

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of use, not of the alphabet."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of the command and return the command."""
        if cmd_name not in self.lazy:
            return None
        home = self.homes.get(cmd_name, cmd_name)
        command = getattr(importlib.import_module(f"heat_neo4j.cli.commands.{home}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lazy.items()))

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the group's own options."""
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as error:
            raise Failure(_usage_line(error), error.exit_code) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        # The driver logs every retry; we report only the outcome.
        logging.getLogger("neo4j").addHandler(logging.NullHandler())
        log = Log()
        try:
            with log_lines(log), remembered_interrupts():
                return super().invoke(ctx)
        except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError, BrokenPipeError):
            raise  # not errors: help is shown as it is, or the reader of our output has gone
        except (Exception, KeyboardInterrupt) as error:
            if ctx.meta.get(VERBOSITY, 0) >= 2:
                told = "".join(traceback.format_exception(error))
                if log.as_json:
                    log(told, level="error", event="traceback")
                else:
                    print_lines(told, err=True)
            raise Failure(*_told(error), log) from error


def _told(error: BaseException) -> tuple[str, int]:
    """Return the line and the exit code of an error."""
    if isinstance(error, HeatError):
        return as_options(" ".join(str(error).split())), error.exit_code
    if isinstance(error, click.UsageError):
        return _usage_line(error), error.exit_code
    if isinstance(error, click.ClickException):
        return error.format_message(), error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return ": ".join(["interrupted", *map(str, error.args)]), INTERRUPTED
    if isinstance(error, MemoryError):
        return "out of memory; `heat estimate` says what a run needs", 1
    # A defect of ours: still one line, with the way to the traceback.
    text = " ".join(str(error).split()) or "no message"
    return f"internal error: {type(error).__name__}: {text} (-vv prints the traceback)", 1


def _usage_line(error: click.UsageError) -> str:
    text = " ".join(error.format_message().split()).rstrip(".")
    return f"{text} (see `{error.ctx.command_path} --help`)" if error.ctx is not None else text
