// Nodes that have left the projection: staged as without coordinates. Parameters: model, lock, holder, ids.
@lock
MATCH (n) WHERE elementId(n) IN $ids
SET n.@run = ''
RETURN count(n.@run) AS written
