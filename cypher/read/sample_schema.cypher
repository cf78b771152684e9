// Labels of both ends of some relationships of a type, and how many of these are so. Parameters: heat_limit (how many).
MATCH (n:@labels)-[r:@type]->(m:@labels)
WITH n, m
LIMIT $heat_limit
RETURN labels(n) AS sources, labels(m) AS targets, count(*) AS relationships
