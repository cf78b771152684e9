// Published values of a list of nodes, in the form of read/coordinates.cypher: of nodes without values, none.
// Parameters: ids and the others of same_node, space, names (the properties), staged_run and staged (the properties while
// a version is being published, else null).
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND @same
WITH i, n, CASE WHEN n[$staged_run] IS NULL THEN $names ELSE $staged END AS names
WHERE coalesce(n[$staged_run], n.@run) = $space
RETURN collect(i) AS positions, collect([name IN names | n[name]]) AS values
