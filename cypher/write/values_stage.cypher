// One batch of values of nodes under staged names: element ids, and a map of staged properties for each.
// Parameters: model, lock, holder, ids and the others of read/same_node, values (a map for each id), space (the run).
@lock
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND @same
SET n += $values[i], n.@run = $space
RETURN count(n.@run) AS written
