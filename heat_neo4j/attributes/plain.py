"""Values beside numbers and strings, in the plain form that the attributes take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Date", "Duration", "Point", "TimeOfDay"]


class Date(float):
    """A date, with or without a time: days since 1970-01-01 UTC, with the fraction."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(np.datetime64(int(self // 1), "D"))


class TimeOfDay(float):
    """A time of day in UTC: the fraction of the day, from 0 to below 1."""

    __slots__ = ()

    def __repr__(self) -> str:
        minutes = int(self * 24 * 60)
        return f"{minutes // 60:02}:{minutes % 60:02}"


class Duration(float):
    """A duration in seconds; the mean month of 30.436875 days of 86400 s stands for each month."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{float(self):g} s"


class Point(NamedTuple):
    """A point in the plane, in space or on the globe.

    Parameters
    ----------
    srid : int
        Its coordinate system: 7203 and 9157 are Cartesian of two and three dimensions, 4326 and 4979 WGS-84
        without and with a height.
    coordinates : tuple of float
        x, y and perhaps z; or longitude and latitude in degrees and perhaps the height in metres.
    """

    srid: int
    coordinates: tuple[float, ...]
