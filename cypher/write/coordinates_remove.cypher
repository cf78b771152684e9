// Remove one batch of a run's coordinates, only where they are still that run's. Parameters: run, ids.
MATCH (n) WHERE elementId(n) IN $ids AND n.@run = $run
REMOVE n.@embedding, n.@radius, n.@run, n.@vector
RETURN count(n) AS removed
