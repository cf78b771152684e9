// Stage nodes that have left the projection, without coordinates. A node that reuses such an element id has no coordinates
// of the space. Parameters: model, lock, holder, ids, space.
@lock
MATCH (n) WHERE elementId(n) IN $ids AND n.@run = $space
SET n.@staged_run = ''
RETURN count(n.@staged_run) AS written
