// Numbers of nodes with coordinates of a space, with staged ones, with either, and of those that readers find while they
// read the staged ones. Parameters: space, run_id (the pattern of run ids).
MATCH (n:@labels) WHERE n.@run = $space OR n.@staged_run = '' OR n.@staged_run =~ $run_id
RETURN count(CASE WHEN n.@run = $space THEN 1 END) AS published, count(n.@staged_run) AS staged, count(n) AS nodes,
       count(CASE WHEN coalesce(n.@staged_run, n.@run) = $space THEN 1 END) AS read
