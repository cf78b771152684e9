// One batch of coordinates under staged names, as columns: element ids, all floats in a row, radii; and, where these
// are no points of the Poincare ball, the factors that make such points of the first floats, else null.
// @same excludes nodes that reuse the element id of a deleted node.
// Nodes are counted after the write: the server skips those that were deleted while we waited for their locks.
// Parameters: model, lock, holder, ids and the others of read/same_node, values (width floats per id), width, radii, factors,
// dimension (of the ball), space (the run whose training gave the coordinates).
@lock
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND @same
SET n.@embedding = $values[i * $width .. (i + 1) * $width], n.@radius = $radii[i], n.@run = $space,
    n.@vector = CASE WHEN $factors IS NOT NULL THEN [x IN $values[i * $width .. i * $width + $dimension] | x * $factors[i]] END
RETURN count(n.@run) AS written
