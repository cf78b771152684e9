// Sets of labels of the nodes that hold coordinates of a space, or staged ones, and have none of some labels; and how many
// nodes have each. Parameters: space, run_id (the form of a run's id).
MATCH (n:@others) WHERE n.@run = $space OR n.@staged_run = '' OR n.@staged_run =~ $run_id
RETURN labels(n) AS labels, count(n) AS nodes
