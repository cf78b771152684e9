// How many nodes have published coordinates of a space, and of how many no others are staged. Parameters: space.
MATCH (n:@labels) WHERE n.@run = $space
RETURN count(n) AS nodes, count(CASE WHEN n.@staged_run IS NULL THEN 1 END) AS kept
