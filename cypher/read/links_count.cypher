// How many predicted links there are of one type. Parameters: runs (null: of any).
MATCH ()-[p:@type]->() WHERE p.run IN $runs OR ($runs IS NULL AND p.run IS NOT NULL)
RETURN count(p) AS found
