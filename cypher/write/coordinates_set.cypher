// One batch of coordinates, as columns: element ids, all floats in a row, radii.
// @projected keeps an element id that was given to another node since from being written to.
// Counted after it was set: the server passes over a node that was deleted while we waited for it.
// Parameters: run, ids, values (width floats per id), width, radii.
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND n:@projected
SET n.@embedding = $values[i * $width .. (i + 1) * $width], n.@radius = $radii[i], n.@run = $run
RETURN count(n.@run) AS written
