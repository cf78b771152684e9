// Nodes with a value in a property we want to write that no run of this model wrote, in any of the three slots.
// Parameters: runs (ids of the runs of this model whose coordinates are in the graph).
MATCH (n)
WHERE ((n.@embedding_one IS NOT NULL OR n.@radius_one IS NOT NULL OR n.@run_one IS NOT NULL
        OR n.@vector_one IS NOT NULL)
       AND NOT coalesce(n.@run_one IN $runs, false))
   OR ((n.@embedding_two IS NOT NULL OR n.@radius_two IS NOT NULL OR n.@run_two IS NOT NULL
        OR n.@vector_two IS NOT NULL)
       AND NOT coalesce(n.@run_two IN $runs, false))
   OR ((n.@embedding_three IS NOT NULL OR n.@radius_three IS NOT NULL OR n.@run_three IS NOT NULL
        OR n.@vector_three IS NOT NULL)
       AND NOT coalesce(n.@run_three IN $runs, false))
RETURN count(n) AS found, min(elementId(n)) AS example
