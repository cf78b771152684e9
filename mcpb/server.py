"""Start ``heat mcp`` with the arguments of the bundle's manifest."""

import sys

from heat_neo4j.cli import heat

heat(["mcp", *sys.argv[1:]], prog_name="heat")
