// Whether the server has Graph Data Science (GDS). Asks nothing of GDS itself, so it fails on no server.
SHOW FUNCTIONS YIELD name WHERE name = 'gds.version'
RETURN count(*) > 0 AS installed
