// Nodes that have left the projection: staged as without coordinates. A node that has got the element id of one since has
// no coordinates of the space. Parameters: model, lock, holder, ids, space.
@lock
MATCH (n) WHERE elementId(n) IN $ids AND n.@run = $space
SET n.@staged_run = ''
RETURN count(n.@staged_run) AS written
