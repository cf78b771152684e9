// Labels of both ends of some relationships of a few types, with their numbers. Parameters: heat_limit (how
// many).
MATCH (n:@labels)-[r:@types]->(m:@labels)
WITH n, r, m
LIMIT $heat_limit
RETURN labels(n) AS sources, type(r) AS type, labels(m) AS targets, count(*) AS relationships
