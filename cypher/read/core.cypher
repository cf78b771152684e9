// Element ids of the nodes of a run that are nearest to the origin. Parameters: run, limit.
MATCH (n) WHERE n.@run = $run
WITH elementId(n) AS id, n.@radius AS radius ORDER BY radius, id LIMIT $limit
RETURN collect(id) AS ids
