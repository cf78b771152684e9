// The sets of labels of the nodes with one copy of the coordinates, and how many nodes have each. Parameters: space.
MATCH (n:@labels) WHERE n.@run = $space
RETURN labels(n) AS labels, count(n) AS nodes
