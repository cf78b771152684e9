// Nodes that have left the projection: staged as without coordinates. Parameters: model, lane, holder, ids.
@lane
MATCH (n) WHERE elementId(n) IN $ids
SET n.@run = ''
RETURN count(n.@run) AS written
