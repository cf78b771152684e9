// How many predicted links there are of one type. Parameters: runs (null: of any), run_id (the pattern of run ids).
MATCH ()-[p:@type]->() WHERE p.run IN $runs OR ($runs IS NULL AND p.run =~ $run_id)
RETURN count(p) AS found
