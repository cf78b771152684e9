"""Servers of both releases under one limit each, as parameters of the fixture ``throwaway_server``."""

__all__ = ["LIMITED_SERVERS", "LIMITS"]

LIMITS = {
    "db.memory.transaction.max": "24m",
    "db.memory.transaction.total.max": "40m",
    "db.transaction.timeout": "5s",
}
LIMITED_SERVERS = {
    f"{series}-{setting}": (series, {setting: LIMITS[setting]})
    for series in ("5.26", "2026")
    for setting in LIMITS
}
