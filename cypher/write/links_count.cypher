// How many links of a run are in the graph. Parameters: run.
MATCH ()-[p:@type]->() WHERE p.run = $run
RETURN count(p) AS found
