"""Cron expressions mean what they mean to cron, whatever the library counts the week from."""

import random
from datetime import UTC, datetime, timedelta

import pytest
import tzlocal
from cronsim import CronSim

from heat_neo4j.worker.schedule import Schedule, _weekday_names

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        tzlocal.reload_localzone()
        yield
    tzlocal.reload_localzone()


def times(schedule, count):
    found, now = [], BEGIN
    for _ in range(count):
        now = schedule.after(now + timedelta(microseconds=1))
        found.append(now)
    return found


def field(chance, low, high, names=()):
    """Return a random field of a cron expression."""
    kind = chance.randrange(6)
    first = chance.randint(low, high - 3)
    last = chance.randint(first + 2, high)
    if names and kind == 4:
        return names[chance.randrange(len(names))]
    texts = ["*", f"*/{chance.choice([2, 3])}", str(first), f"{first}-{last}", f"{first}-{last}/2"]
    return [*texts, f"{first},{last}"][kind]


@pytest.mark.parametrize("seed", range(30))
def test_a_year_of_times_is_as_cron_has_it(seed):
    chance = random.Random(seed)
    days = ("SUN", "mon", "Tue", "WED", "thu", "fri", "sat")
    expression = " ".join(
        [
            chance.choice(["0", "*/20", "5,35", "7-9"]),
            field(chance, 0, 23),
            field(chance, 1, 28),
            field(chance, 1, 12, ("jan", "APR", "dec")),
            field(chance, 0, 7, days),
        ]
    )
    twin = CronSim(expression, BEGIN)
    assert times(Schedule.cron(expression), 200) == [next(twin) for _ in range(200)], expression


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("*", "*"),
        ("0", "sun"),
        ("7", "sun"),
        ("1-5", "mon,tue,wed,thu,fri"),
        ("5-7", "sun,fri,sat"),
        ("0-2", "sun,mon,tue"),
        ("mon-fri/2", "mon,wed,fri"),
        ("*/3", "sun,wed,sat"),
        ("1/5", "mon,sat"),
        ("Sat,SUN,1", "sun,mon,sat"),
    ],
)
def test_days_of_the_week_count_from_sunday(text, names):
    assert _weekday_names(text) == names


def test_either_day_will_do_where_both_are_given():
    first = times(Schedule.cron("0 0 13 * 5"), 4)  # the 13th, and every Friday
    assert [f"{time:%d %a}" for time in first] == ["02 Fri", "09 Fri", "13 Tue", "16 Fri"]
    both = times(Schedule.cron("0 0 */2 * 5"), 2)  # a star counts as "not given"
    assert [f"{time:%d %a}" for time in both] == ["09 Fri", "23 Fri"]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("0 3 * *", "five fields"),
        ("61 3 * * *", "61"),
        ("0 3 * * 8", "'8' is not a weekday"),
        ("0 3 * * fri-mon", "'fri-mon' is not a weekday range"),
        ("0 3 * * 1/0", "'1/0' is not a weekday range"),
        ("0 3 * nevermonth *", "nevermonth"),
        ("0 0 30 2 *", "never fires"),
    ],
)
def test_what_is_no_cron_expression_is_said_in_one_line(expression, told):
    with pytest.raises(ValueError, match=told) as caught:
        Schedule.cron(expression)
    assert "\n" not in str(caught.value)
    assert repr(expression) in str(caught.value)


def test_an_interval_begins_now_and_a_cron_expression_when_it_comes():
    now = datetime.now().astimezone()
    every = Schedule.every(900.0)
    assert every.first(now) == now
    assert timedelta(0) < every.after(now) - now <= timedelta(minutes=15, seconds=1)
    assert every.after(now + timedelta(hours=3)) - now > timedelta(hours=3)  # what was missed is not made up
    assert Schedule.cron("0 3 * * *").first(BEGIN) == BEGIN.replace(hour=3)
