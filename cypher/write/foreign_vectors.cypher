// Nodes with a value in the vector property that the run has not written. Parameters: run.
MATCH (n)
WHERE n.@vector IS NOT NULL AND NOT coalesce(n.@run = $run, false)
RETURN count(n) AS found, min(elementId(n)) AS example
