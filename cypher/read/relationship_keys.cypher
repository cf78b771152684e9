// Property keys of some relationships. Parameters: limit.
MATCH ()-[r:@types]->()
WITH r LIMIT $limit
UNWIND keys(r) AS key
RETURN collect(DISTINCT key) AS keys
