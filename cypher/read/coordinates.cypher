// Coordinates of one run for a list of nodes, as columns: positions in the list, the lists of floats, and the radii.
// A node that is gone or has none of this run is left out. Parameters: ids, run.
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND n.@run = $run AND n.@embedding IS NOT NULL AND n.@radius IS NOT NULL
RETURN collect(i) AS positions, collect(n.@embedding) AS coordinates, collect(n.@radius) AS radii
