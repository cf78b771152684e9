// How many of some nodes with a label have one relationship of a type, and several. Parameters: heat_limit (how
// many nodes).
MATCH (n:@label)
WITH n
LIMIT $heat_limit
WITH COUNT { (n)-[:@type]->() } AS degree
RETURN count(*) AS nodes, sum(degree) AS relationships, count(CASE degree WHEN 1 THEN 1 END) AS one,
       count(CASE WHEN degree > 1 THEN 1 END) AS several
