"""One HTML page of the Poincare disk that a person can walk in: ``build_page``, and what goes into it."""

from heat_neo4j.explore.neighbours import Neighbours, nearest_neighbours
from heat_neo4j.explore.page import build_page
from heat_neo4j.explore.published import PageData, read_page_data

__all__ = ["Neighbours", "PageData", "build_page", "nearest_neighbours", "read_page_data"]
