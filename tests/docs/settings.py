"""The page docs/settings.md, which ``python -m tests.docs.reference`` writes."""

import click

from heat_neo4j.cli.settings import HEADINGS, Setting, settings_of
from heat_neo4j.cli.values import OrAuto, Pair

INTRODUCTION = """\
# Settings

A setting is a key of `heat.toml` and an option of the commands that use it. The option is the key with
hyphens, such as `--default-weight`, or the name in brackets. A key with a * has no option. Options override
environment variables, and these override `heat.toml`.
"""
HEADER = "| key | value | default | |\n|---|---|---|---|"


def settings_page() -> str:
    """Return the page in Markdown."""
    lines = [INTRODUCTION]
    for section in HEADINGS:
        lines += [f"## [{section}]\n", HEADER, *map(_row, settings_of(section)), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _row(setting: Setting) -> str:
    option = "" if setting.flag == f"--{setting.name.replace('_', '-')}" else f" (`{setting.flag}`)"
    if setting.level == "file":
        option = " *"
    elif setting.type is click.BOOL:
        option = f" (`{setting.flag}`, `--no-{setting.flag[2:]}`)"
    default = setting.default
    if isinstance(default, bool):
        default = str(default).lower()
    cells = (
        f"`{setting.name}`{option}", f"{setting.kind.removeprefix('a ')}{_range(setting.type)}",
        "" if default is None else f"`{default}`", setting.help,
    )  # fmt: skip
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


def _range(values: click.ParamType) -> str:  # type: ignore[type-arg]  # generic from click 8.4 on only
    """Return which values are allowed, as the end of a phrase."""
    if isinstance(values, Pair):
        return _range(values.value_type)
    if isinstance(values, OrAuto):
        return _range(values.numbers)
    if isinstance(values, click.Choice):
        return f": {', '.join(values.choices)}"
    if not isinstance(values, click.IntRange | click.FloatRange):
        return ""
    if values.max is not None:
        return f", {values.min:g} to {values.max:g}"
    return f", above {values.min:g}" if values.min_open else f", at least {values.min:g}"
