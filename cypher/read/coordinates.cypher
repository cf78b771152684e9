// Published coordinates for a list of nodes, as columns: positions in the list, the lists of floats, and the radii.
// Nodes that were deleted or replaced, or have no coordinates, are left out. Parameters: ids and the others of
// same_node, space; staged_embedding, staged_radius and staged_run (the properties while a version is being published,
// else null).
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND @same AND coalesce(n[$staged_run], n.@run) = $space
WITH i, coalesce(n[$staged_embedding], n.@embedding) AS coordinates, coalesce(n[$staged_radius], n.@radius) AS radius
WHERE coordinates IS NOT NULL AND radius IS NOT NULL
RETURN collect(i) AS positions, collect(coordinates) AS coordinates, collect(radius) AS radii
