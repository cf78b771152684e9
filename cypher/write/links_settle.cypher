// Make the plain links those of the staged version, in batches. A link of both versions changes in place, and its old
// values move to the previous link, created if necessary; other links are created. A batch is settled only once.
// Parameters: model, lock, holder, most (in all), rows (in a batch), run (that is staged), before (the run that is
// replaced, or null), run_id (the pattern of run ids: a user's own links stay).
MATCH (a)-[s:@staged]->(b) WHERE s.run = $run AND NOT EXISTS { (a)-[:@plain {run: $run, type: s.type}]->(b) }
WITH s LIMIT $most
WITH collect(s) AS links
UNWIND range(0, size(links) - 1, $rows) AS begin
WITH links[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS s
  WITH s, startNode(s) AS a, endNode(s) AS b
  OPTIONAL MATCH (a)-[p:@plain {type: s.type}]->(b) WHERE p.run IN [$run, $before]
  FOREACH (_ IN CASE WHEN p IS NULL THEN [1] ELSE [] END | CREATE (a)-[made:@plain]->(b) SET made = properties(s))
  WITH s, a, b, p
  OPTIONAL MATCH (a)-[v:@previous {type: p.type}]->(b) WHERE p.run = $before AND v.run =~ $run_id
  FOREACH (_ IN CASE WHEN p.run = $before AND v IS NULL THEN [1] ELSE [] END |
    CREATE (a)-[made:@previous]->(b) SET made = properties(p))
  FOREACH (_ IN CASE WHEN v IS NOT NULL THEN [1] ELSE [] END | SET v = properties(p))
  FOREACH (_ IN CASE WHEN p.run = $before THEN [1] ELSE [] END | SET p = properties(s))
  RETURN count(s) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
