"""``python -m heat_neo4j`` is ``heat``."""

from heat_neo4j.cli import main

if __name__ == "__main__":
    main()
