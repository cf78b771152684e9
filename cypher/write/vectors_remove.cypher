// Remove one batch of a run's vectors. Parameters: run, ids.
MATCH (n) WHERE elementId(n) IN $ids AND n.@run = $run
REMOVE n.@vector
RETURN count(n) AS written
