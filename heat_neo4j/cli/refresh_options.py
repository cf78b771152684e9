"""Options of ``heat refresh`` and ``heat serve``: what is kept fresh, and what a new version must reach."""

from __future__ import annotations

from typing import Any

import click

from heat_neo4j.cli.options import Count, Decorator, Number, option, projection_options, stack
from heat_neo4j.cli.run_options import (
    choose_option,
    heat_options,
    index_switch,
    link_options,
    links_switch,
    memory_option,
    names_options,
    overwrite_option,
)

__all__ = ["job_options", "mode_options", "records_option"]

_ABOVE_0 = Number(min=0, min_open=True)
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
