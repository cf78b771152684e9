"""The version of this package."""

from importlib import metadata

try:
    __version__ = metadata.version("heat-neo4j")
except metadata.PackageNotFoundError:  # a folder on Python's path that is not installed
    __version__ = "0+unknown"
