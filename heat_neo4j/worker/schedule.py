"""When to refresh: at intervals, or by a cron expression."""

from datetime import datetime
from typing import Any, Self

from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = "minute, hour, day of the month, month, day of the week"


class Schedule:
    """The times at which a worker refreshes. A missed time is not made up for.

    The trigger of apscheduler computes the next time; `at_once` says whether the first is now.
    """

    def __init__(self, trigger: Any, *, at_once: bool) -> None:
        self._trigger, self._at_once = trigger, at_once

    @classmethod
    def every(cls, seconds: float) -> Self:
        """Refresh now, and then every `seconds`."""
        return cls(IntervalTrigger(seconds=seconds), at_once=True)

    @classmethod
    def cron(cls, expression: str) -> Self:
        """Refresh by a cron expression of five fields, in local time (that of the variable ``TZ``).

        As in cron, days of the week count from Sunday, which is 0 and 7, and a day of the month and a day
        of the week together mean either of them. An expression that is invalid or has no next time is a
        ValueError.
        """
        fields = expression.split()
        if len(fields) != 5:
            raise ValueError(f"{expression!r} is not a cron expression: it needs five fields, {_FIELDS}")
        minute, hour, day, month, weekday = fields
        try:
            parts = [{"day": day, "day_of_week": _weekday_names(weekday)}]
            if not day.startswith("*") and not weekday.startswith("*"):
                parts = [{name: value} for name, value in parts[0].items()]
            trigger = OrTrigger(
                [CronTrigger(minute=minute, hour=hour, month=month, **part) for part in parts]
            )
        except ValueError as error:
            raise ValueError(f"{expression!r} is not a cron expression: {error}") from error
        if trigger.get_next_fire_time(None, datetime.now().astimezone()) is None:
            raise ValueError(f"{expression!r} never fires")
        return cls(trigger, at_once=False)

    def first(self, now: datetime) -> datetime:
        """Return the first time, which is `now` if the schedule begins at once."""
        return now if self._at_once else self.after(now)

    def after(self, now: datetime) -> datetime:
        """Return the next time from `now` on (with a time zone)."""
        time: datetime = self._trigger.get_next_fire_time(None, now)
        return time


def _weekday_names(field: str) -> str:
    """Return a cron field of days of the week by name: cron counts from Sunday, the library from Monday.

    >>> _weekday_names("5-7")
    'sun,fri,sat'
    """
    if field == "*":
        return field
    days: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        start, end = (0, 6) if span == "*" else (_weekday(first), _weekday(last if dash else first))
        if slash and not dash and span != "*":
            end = 6  # "2/3" is every third day from Tuesday on
        if start > end or (slash and not (step.isdecimal() and int(step))):
            raise ValueError(f"{part!r} is not a weekday range")
        days.update(day % 7 for day in range(start, end + 1, int(step or 1)))
    return ",".join(_WEEKDAYS[day] for day in sorted(days))


def _weekday(text: str) -> int:
    """Return the number of a day of the week, 0 to 7; both ends of these are Sunday."""
    if text.lower() in _WEEKDAYS:
        return _WEEKDAYS.index(text.lower())
    if text.isdecimal() and int(text) <= 7:
        return int(text)
    raise ValueError(f"{text!r} is not a weekday (0 to 7, or sun to sat)")
