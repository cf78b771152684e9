// Nodes with a value that no run of this model wrote in a property to be written, in any of the three copies.
// Parameters: runs (ids of the runs of this model whose values are in the graph), run_id (the pattern of run ids:
// what is staged or kept may be of a run that has begun since, or of one that is forgotten).
MATCH (n:@labels)
WHERE ((
        n.@value IS NOT NULL OR
        n.@run IS NOT NULL) AND NOT coalesce(n.@run IN $runs, false))
   OR ((
        n.@staged_value IS NOT NULL OR
        n.@staged_run IS NOT NULL) AND NOT coalesce(n.@staged_run = '' OR n.@staged_run =~ $run_id, false))
   OR ((
        n.@previous_value IS NOT NULL OR
        n.@previous_run IS NOT NULL) AND NOT coalesce(n.@previous_run =~ $run_id, false))
RETURN count(n) AS found, min(elementId(n)) AS example
