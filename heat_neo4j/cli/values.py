"""The kinds of values that options and heat.toml take."""

import math
import re
from typing import Any

import click

AUTO = "auto"
_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_LONGEST = 3_650 * 86_400.0  # dates end at the year 9999
_SMALLEST, _LARGEST = 1e-12, 1e12
_LARGEST_SIZE = 2**60
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?\s*", re.IGNORECASE)


class Pair(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on only
    """A name and a value with a "=" between them, the first of several."""

    name = "pair"

    def __init__(self, value_type: "click.ParamType[Any]") -> None:
        self.value_type = value_type

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Return name and value."""
        name, equals, rest = value.partition("=") if isinstance(value, str) else (value[0], "=", value[1])
        if not (name and equals and rest != ""):
            self.fail(f"{value!r} is not a name and a value with = between them", param, ctx)
        return name, self.value_type.convert(rest, param, ctx)


class Keyed(click.ParamType):  # type: ignore[type-arg]
    """PROPERTY, or LABEL=PROPERTY for the nodes with a label."""

    name = "property"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return label and property; "" stands for no label."""
        if not isinstance(value, str):
            return value[0], value[1]
        label, equals, name = value.partition("=") if "=" in value else ("", "", value)
        if not name.strip() or (equals and not label):
            self.fail(f"{value!r} is neither PROPERTY nor LABEL=PROPERTY", param, ctx)
        return label, name


class Count(click.IntRange):
    """A whole number in a range, at most `largest`."""

    name = "whole number"

    def __init__(self, min: int, max: int | None = None, *, largest: int | None = 2**31 - 1) -> None:
        super().__init__(min, max)
        self._largest = largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if self._largest is not None and number > self._largest:
            self.fail(f"it must be at most {self._largest:,}", param, ctx)
        return number


PORT = Count(1024, 65535)


class Number(click.FloatRange):
    """A finite number in a range, 1e12 at most; above 0, it is at least 1e-12."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        if isinstance(value, int) and abs(value) > 10**300:  # TOML has integers that no float can hold
            value = math.inf if value > 0 else -math.inf
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):  # not-a-number is in every range
            self.fail(f"{number!r} is not a finite number", param, ctx)
        if number != 0 and not _SMALLEST <= abs(number) <= _LARGEST:
            self.fail(f"{number!r} is not in the range {_SMALLEST:g}<=x<={_LARGEST:g}", param, ctx)
        return number


class OrAuto(click.ParamType):  # type: ignore[type-arg]
    """A number in a range, or the word "auto": the graph then decides."""

    name = "number or auto"

    def __init__(self, numbers: "click.ParamType[Any]") -> None:
        self.numbers = numbers

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return "auto", or what the range makes of the value."""
        if value == AUTO:
            return AUTO
        try:
            return self.numbers.convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}; or give auto", param, ctx)


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as 90s, 15m, 2h or 1d, above 0; in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, int | float):
            return float(value)
        parts = _DURATION.fullmatch(value.strip())
        if parts is None or not float(parts[1]):
            self.fail(f"{value!r} is not a time such as 90s, 15m, 2h or 1d", param, ctx)
        seconds = float(parts[1]) * _UNIT_SECONDS[parts[2]]
        if not _SMALLEST <= seconds <= _LONGEST:
            self.fail("it must be at most 3650d", param, ctx)
        return seconds


class Size(click.ParamType):  # type: ignore[type-arg]
    """A size: a number and one of KB, MB, GB, TB, in powers of 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return bytes."""
        if isinstance(value, int):
            return value
        parts = _SIZE.fullmatch(str(value))
        if parts is None or float(parts[1]) == 0:
            self.fail(f"{value!r} is not a size: give a number above 0 with KB, MB, GB or TB", param, ctx)
        size = float(parts[1]) * 1024 ** ("KMGT".index(parts[2].upper()) + 1 if parts[2] else 0)
        if size > _LARGEST_SIZE:
            self.fail(f"it must be at most {_LARGEST_SIZE // 1024**4:,} TB", param, ctx)
        return int(size)
