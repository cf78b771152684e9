// How many nodes have one copy of the coordinates. Parameters: spaces (ids of runs), run_id (the form of a run's id, to
// count those of all runs, or null).
MATCH (n:@labels) WHERE n.@run IN $spaces OR n.@run =~ $run_id
RETURN count(n) AS found
