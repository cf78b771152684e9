// How many nodes have published coordinates of a space. Parameters: space.
MATCH (n:@labels) WHERE n.@run = $space AND n.@embedding IS NOT NULL AND n.@radius IS NOT NULL
RETURN count(n) AS nodes
