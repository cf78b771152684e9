// How many nodes have one copy of the coordinates. Parameters: spaces (only those of some runs, or null).
MATCH (n) WHERE n.@run IS NOT NULL AND ($spaces IS NULL OR n.@run IN $spaces)
RETURN count(n) AS found
