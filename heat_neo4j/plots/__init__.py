"""Pictures (matplotlib, the extra ``plot``). Functions take arrays and Axes and return Axes."""

from heat_neo4j.plots.diagrams import (
    plot_radius_by_degree,
    plot_reliability,
    plot_roc,
    plot_roc_panels,
)
from heat_neo4j.plots.disk import geodesics, plot_disk
from heat_neo4j.plots.style import FORMATS, add_title, check_installed, save_picture

__all__ = [
    "FORMATS",
    "add_title",
    "check_installed",
    "geodesics",
    "plot_disk",
    "plot_radius_by_degree",
    "plot_reliability",
    "plot_roc",
    "plot_roc_panels",
    "save_picture",
]
