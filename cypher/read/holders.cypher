// How many nodes hold coordinates of a space, how many hold staged ones, how many either, and how many its readers find while
// the staged ones are read. Parameters: space, run_id (the form of a run's id).
MATCH (n:@labels) WHERE n.@run = $space OR n.@staged_run = '' OR n.@staged_run =~ $run_id
RETURN count(CASE WHEN n.@run = $space THEN 1 END) AS published, count(n.@staged_run) AS staged, count(n) AS nodes,
       count(CASE WHEN coalesce(n.@staged_run, n.@run) = $space THEN 1 END) AS read
