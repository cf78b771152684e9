// One batch of coordinates, as columns: element ids, all floats in a row, radii; and for an index the factors that
// make vectors of the first floats, or null for no vectors.
// @projected keeps an element id that was given to another node since from being written to.
// Counted after it was set: the server passes over a node that was deleted while we waited for it.
// Parameters: run, ids, values (width floats per id), width, radii, scales, dimension (of a vector).
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND n:@projected
SET n.@embedding = $values[i * $width .. (i + 1) * $width], n.@radius = $radii[i], n.@run = $run,
    n.@vector = CASE WHEN $scales IS NOT NULL THEN [x IN $values[i * $width .. i * $width + $dimension] | x * $scales[i]] END
RETURN count(n.@run) AS written
