"""What the command line says: results on stdout; progress, errors and the log on stderr."""

from __future__ import annotations

import json
import logging
import math
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import FrameType
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

import click

from heat_neo4j._utils.closing import Closing
from heat_neo4j._utils.display import printable, printable_json
from heat_neo4j._utils.log_line import LogLine
from heat_neo4j._utils.progress import ProgressBars
from heat_neo4j.errors import OutputFailed
from heat_neo4j.errors.redaction import redacted, redacted_data

AS_JSON = "heat.as_json"  # key of the option ``--json`` in the context's meta, which nested contexts share
VERBOSITY = "heat.verbosity"  # key of the count of ``-v`` there
LOG_JSON = "heat.log_json"  # key of the option ``--log-json`` there
LOG_MODEL = "heat.log_model"  # key of the name of the model that the command is about
FLAGS = "heat.flags"  # key of the command's options by parameter
LINE_INTERVAL = 5.0  # least seconds between two plain progress lines of one stage
_LOGGER = logging.getLogger("heat_neo4j")
_pressed = threading.Event()
# Messages of the API have parameters in backticks, or at their beginning; Cypher has names in backticks.
_PARAMETER = re.compile(r"(?<![.:|&!])`(\w+)`|^(\w+)(?= must | has a name twice| names )")


class Reporter(Closing):
    """A progress callback: bars on a terminal, plain lines elsewhere, both on stderr.

    Use it as a context manager, so that a bar is closed before an error is printed. If quiet (``--json``
    without ``-v``), it prints nothing unless the stream is a terminal. With ``--log-json`` it writes log
    objects instead of bars.
    """

    def __init__(self, *, quiet: bool | None = None, stream: TextIO | None = None) -> None:
        if quiet is None:
            quiet = as_json() and not verbosity()
        self._stream = stream if stream is not None else sys.stderr
        self._log = Log(str, file=self._stream)
        self._bars: ProgressBars | None = None
        if self._stream.isatty() and not self._log.as_json:
            self._bars = ProgressBars(file=self._stream, unit="", unit_scale=True, mininterval=0.2)
        self.quiet = quiet
        self._silent = quiet and self._bars is None
        self._stage = ""
        self._done = 0
        self._started = self._spoken = 0.0
        self.clock = time.monotonic

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note that `done` of `total` units of `stage` are done; raise a deferred Ctrl-C."""
        check_interrupt()
        if self._silent:
            return
        if self._bars is not None:
            self._bars(stage, done, total)
            return
        if stage != self._stage or done < self._done:
            self._stage = stage
            self._started = self._spoken = self.clock()
        self._done = done
        self._print_stage(stage, done, total)
        if done >= total:
            self.close()

    def close(self) -> None:
        """End the current stage; its bar keeps its line."""
        if self._bars is not None:
            self._bars.close()
        self._stage = ""
        self._done = 0

    def _print_stage(self, stage: str, done: int, total: int) -> None:
        now = self.clock()
        fields = {"event": "stage", "stage": stage, "done": done, "total": total}
        if done >= total:
            what = f"{total:,}" if total != 1 else "done"  # a stage of one step has nothing to count
            took = now - self._started
            self._log(f"{stage}: {what} in {format_seconds(took)}", **fields, seconds=round(took, 3))
        elif now - self._spoken >= LINE_INTERVAL:
            self._spoken = now
            self._log(f"{stage}: {done:,} of {total:,} ({done / total:.0%})", **fields)


def print_line(text: str = "", *, err: bool = False, file: TextIO | None = None) -> None:
    """Print one line, on stdout unless told otherwise, without passwords and without control sequences.

    Everything that the command line prints passes through this function, `print_json`, `print_cypher` or a
    `Log`: names and values come from databases and files that others write.
    """
    _echo(printable(redacted(text)), err=err, file=file)


def print_lines(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, each as `print_line` does."""
    for line in redacted(text).removesuffix("\n").split("\n"):
        print_line(line, err=err)


def print_cypher(text: str) -> None:
    """Print Cypher as it is, to be copied: a mask or an escape could end a quoted name early.

    Its names must be quoted by `database.statements.identifier_to_copy`.
    """
    _echo(text.removesuffix("\n"))


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON document on stdout; numbers that are not finite become null."""
    text = json.dumps(redacted_data(document), indent=2, ensure_ascii=False, allow_nan=False)
    _echo(printable_json(text))


def printed_as_json(document: Mapping[str, Any] | Sequence[Any]) -> bool:
    """Print a document if the command got ``--json``; return whether it did."""
    if as_json():
        print_json(document)
    return as_json()


def verbosity() -> int:
    """Return how often the command got ``-v``."""
    return int(_meta().get(VERBOSITY, 0))


def as_json() -> bool:
    """Return whether the command got ``--json``."""
    return bool(_meta().get(AS_JSON))


def _meta() -> Mapping[str, Any]:
    """Return what nested contexts of the command share; nothing outside of a command."""
    context = click.get_current_context(silent=True)
    return {} if context is None else context.meta


def _echo(text: str, *, err: bool = False, file: TextIO | None = None) -> None:
    try:
        click.echo(text, err=err, file=file)
    except BrokenPipeError:
        raise  # the reader has gone: click ends the program
    except OSError as error:
        if not err:
            with suppress(OSError):
                sys.stdout.close()  # or Python tries again at its end, and says so in words of its own
        raise OutputFailed(f"the output cannot be written: {error.strerror}") from error


def facts(rows: Iterable[tuple[str, str]]) -> None:
    """Print lines of a name and a text; an empty name continues the line above."""
    for name, text in rows:
        print_line(f"{name:<13} {text}".rstrip())


def as_options(text: str) -> str:
    """Return a message of the Python API with the command's options in place of its parameters."""
    flags: Mapping[str, str] = _meta().get(FLAGS, {})
    return _PARAMETER.sub(lambda found: flags.get(found[1] or found[2], found[0]), text)


def noted(notes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of `facts` for notes."""
    for note in notes:
        yield "Note", as_options(note)


def headed(name: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of `facts` for several texts under one name."""
    for place, text in enumerate(texts):
        yield "" if place else name, text


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a header, columns as wide as their widest entry."""
    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        cells = zip(line, widths, strict=True)
        print_line("  ".join(cell + " " * (width - _width(cell)) for cell, width in cells).rstrip())


def _width(text: str) -> int:
    """Return the columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 1 + (east_asian_width(each) in "FW") for each in text)


def format_probability(value: float) -> str:
    """Return four decimal places, or two significant digits of what is below 0.01."""
    return f"{value:.4f}" if value >= 0.01 or value == 0.0 else f"{value:.2g}"


def format_seconds(seconds: float) -> str:
    """Return a duration for people: ``"0.4 s"``, ``"3 min 20 s"``, ``"2 h 5 min"``."""
    if seconds < 59.95 or not math.isfinite(seconds):
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


class Log:
    """Writes log lines to stderr: formatted by `form`, or as JSON objects with ``--log-json``.

    Callable from any thread; create it in the command's thread, since it reads its options.
    """

    def __init__(self, form: Callable[[str], str] = "heat: {}".format, *, file: TextIO | None = None) -> None:
        self._meta, self._form, self._file = _meta(), form, file

    @property
    def as_json(self) -> bool:
        """Whether lines are JSON objects."""
        return bool(self._meta.get(LOG_JSON))

    def __call__(self, line: str, **fields: Any) -> None:
        """Write a line; only JSON logs have the `fields`."""
        if self.as_json:
            text = json_line(line, **{"model": self._meta.get(LOG_MODEL), **fields})
            _echo(text, err=True, file=self._file)
        else:
            print_line(self._form(line), err=True, file=self._file)


class _Lines(logging.Handler):
    def __init__(self, write_line: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._write_line = write_line

    def emit(self, record: logging.LogRecord) -> None:
        event = record.name.removeprefix(f"{_LOGGER.name}.")
        self._write_line(LogLine(record.getMessage(), event=event, level=record.levelname.lower()))


def print_log_line(line: str) -> None:
    """Print one line of the log on stderr."""
    Log()(line)


def log_of_machines(line: str, **fields: Any) -> None:
    """Log, only with ``--log-json``, a line that stdout already shows."""
    log = Log()
    if log.as_json:
        log(line, **fields)


@contextmanager
def log_lines(write_line: Callable[[str], None] = print_log_line) -> Iterator[None]:
    """Send this package's log lines to `write_line` only, while the block runs.

    `write_line` is called from whichever thread logs.
    """
    before, level = _LOGGER.handlers[:], _LOGGER.level
    _LOGGER.handlers = [handler for handler in before if not isinstance(handler, _Lines)]
    _LOGGER.addHandler(_Lines(write_line))
    _LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOGGER.handlers = before
        _LOGGER.setLevel(level)


@contextmanager
def remembered_interrupts() -> Iterator[None]:
    """Remember Ctrl-C while the block runs, to raise it again at the next report of progress.

    Python drops a KeyboardInterrupt that is raised while it runs inside a callback of compiled code or a
    finaliser: a long run would go on as if nothing had been pressed. If another handler is set, or the signal
    is ignored (a background job), nothing changes.
    """
    _pressed.clear()
    is_default = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_default:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed, once for one press."""
    if _pressed.is_set():
        _pressed.clear()
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _pressed.set()
    signal.default_int_handler(number, frame)


def json_line(line: str, **fields: Any) -> str:
    """Return one line: time (UTC), level, event, what else is known, and the message; None is left out.

    A `LogLine` brings its own level, event and fields, which `fields` replace; any other text is of level
    "info" and event "log".
    """
    known: dict[str, Any] = {"level": "info", "event": "log"}
    if isinstance(line, LogLine):
        known = {"level": line.level, "event": line.event, **line.fields}
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    document = {"time": now, **known, **fields, "message": str(line)}
    document = {name: value for name, value in document.items() if value is not None}
    return printable_json(json.dumps(redacted_data(document), ensure_ascii=False, allow_nan=False))
