// How many nodes have one copy of the coordinates. Parameters: spaces (ids of runs), run_id (the pattern of run ids, to
// count those of all runs, or null).
MATCH (n:@labels) WHERE n.@run IN $spaces OR n.@run =~ $run_id
RETURN count(n) AS found
