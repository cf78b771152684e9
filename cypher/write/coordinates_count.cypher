// How many nodes have coordinates that a run wrote. Parameters: run.
MATCH (n) WHERE n.@run = $run
RETURN count(n) AS found
