"""``heat serve``: a worker that refreshes by a schedule, for those without a scheduler."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from heat_neo4j._utils.progress import no_progress
from heat_neo4j.cli.arguments import job_from, made
from heat_neo4j.cli.connection import open_store
from heat_neo4j.cli.group import HeatCommand
from heat_neo4j.cli.options import common_options, job_options, log_options, setting_options
from heat_neo4j.cli.output import Log, Reporter, log_lines, verbosity

if TYPE_CHECKING:
    from heat_neo4j.worker.loop import Observer
    from heat_neo4j.worker.schedule import Schedule

EXAMPLE = """
heat serve --every 15m --label Paper --relationship CITES
heat serve --cron "0 3 * * *" --config /etc/heat.toml --health-file /run/heat/health
"""


@click.command(cls=HeatCommand, example=EXAMPLE)
@setting_options("serve")
@job_options
@setting_options("connection")
@common_options
@log_options
def serve(every: float | None, cron: str | None, **options: Any) -> None:
    """Keep a model fresh on a schedule.

    Refreshes at intervals (--every) or on a cron schedule (--cron) until stopped. SIGINT and SIGTERM stop it;
    a running refresh ends at its next progress report, and published data stays.

    Exit codes: 0 stopped by a signal; 3 server unreachable for too long; 4 no such model: run `heat embed`
    first; others as for every command.
    """
    from heat_neo4j.worker.loop import HealthFile, Worker

    schedule = _schedule(every, cron)
    job, say = job_from(options), Log(dated)
    with Reporter(quiet=not verbosity()) as progress:

        def log(line: str) -> None:
            progress.close()
            say(line)

        worker = Worker(
            lambda: open_store(options),
            job,
            schedule,
            give_up_after=options["give_up_after"],
            health=HealthFile(options["health_file"]),
            observer=_observer(job.names.model, options),
            on_progress=progress if verbosity() else no_progress,
            log=log,
        )
        with log_lines(say), _stopped_by_signals(worker.stop):
            worker.run()


@contextmanager
def _stopped_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` on SIGINT or SIGTERM; a second signal interrupts the work at once."""
    signals = 0

    def stop_or_break(number: int, frame: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            raise KeyboardInterrupt
        stop()

    before = {number: signal.signal(number, stop_or_break) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def dated(line: str) -> str:
    """Return a log line with a timestamp, for people."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {line}"


def _observer(model: str, options: Mapping[str, Any]) -> Observer | None:
    file, port = options["metrics_file"], options["metrics_port"]
    if file is None and port is None:
        return None
    from heat_neo4j.worker.metrics import Metrics

    return Metrics(model, file=file, port=port)


def _schedule(every: float | None, cron: str | None) -> Schedule:
    from heat_neo4j.worker.schedule import Schedule

    if every is not None and cron is None:
        return Schedule.every(every)
    if cron is not None and every is None:
        return made(Schedule.cron, expression=cron)
    raise click.UsageError("give either --every or --cron (one may be in heat.toml)")
