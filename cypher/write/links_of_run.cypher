// Links that a run predicted, at most limit of them. Parameters: run, limit.
MATCH ()-[p:@type]->() WHERE p.run = $run
WITH p LIMIT $limit
RETURN collect(elementId(p)) AS ids
