// How many nodes hold coordinates of a space, how many hold staged ones, and how many either.
// Parameters: space, run_id (the form of a run's id).
MATCH (n:@labels) WHERE n.@run = $space OR n.@staged_run = '' OR n.@staged_run =~ $run_id
RETURN count(CASE WHEN n.@run = $space THEN 1 END) AS published, count(n.@staged_run) AS staged, count(n) AS nodes
