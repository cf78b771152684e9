// Coordinates of the previous version for a list of nodes, in the form of read/coordinates.cypher. Values that the last
// publication did not replace still have their plain names.
// Parameters: ids and the others of same_node, before (the run whose version is kept), space (of that version).
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND @same
WITH i, n, coalesce(n.@previous_run = $before, false) AS is_replaced
WHERE is_replaced OR n.@run = $space
WITH i, CASE WHEN is_replaced THEN n.@previous_embedding ELSE n.@embedding END AS coordinates,
     CASE WHEN is_replaced THEN n.@previous_radius ELSE n.@radius END AS radius
WHERE coordinates IS NOT NULL AND radius IS NOT NULL
RETURN collect(i) AS positions, collect(coordinates) AS coordinates, collect(radius) AS radii
