// Sets of labels, with their numbers of nodes, of the nodes that have coordinates of a space, or staged ones, but none of
// some labels. Parameters: space, run_id (the pattern of run ids).
MATCH (n:@others) WHERE n.@run = $space OR n.@staged_run = '' OR n.@staged_run =~ $run_id
RETURN labels(n) AS labels, count(n) AS nodes
