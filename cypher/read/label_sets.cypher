// The sets of labels that the nodes of a run have, and how many nodes have each. Parameters: run.
MATCH (n) WHERE n.@run = $run
RETURN labels(n) AS labels, count(n) AS nodes
