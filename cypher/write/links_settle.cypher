// Bring the plain links to the staged version, in batches. A link of both versions is changed in place, and what it was
// goes onto the link of the copy that is kept, made if there is none; other links are made. A batch that was settled
// is not settled again.
// Parameters: model, lock, holder, rows (in a batch), run (that is staged), before (the run that is replaced, or null),
// run_id (the form of a run's id: a user's own links stay).
MATCH ()-[s:@staged]->() WHERE s.run = $run
WITH collect(s) AS links
UNWIND range(0, size(links) - 1, $rows) AS begin
WITH links[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS s
  WITH s, startNode(s) AS a, endNode(s) AS b
  OPTIONAL MATCH (a)-[p:@plain {type: s.type}]->(b) WHERE p.run IN [$run, $before]
  FOREACH (_ IN CASE WHEN p IS NULL THEN [1] ELSE [] END | CREATE (a)-[made:@plain]->(b) SET made = properties(s))
  WITH s, a, b, p WHERE p.run = $before
  OPTIONAL MATCH (a)-[v:@previous {type: p.type}]->(b) WHERE v.run =~ $run_id
  FOREACH (_ IN CASE WHEN v IS NULL THEN [1] ELSE [] END |
    CREATE (a)-[made:@previous]->(b) SET made = properties(p))
  FOREACH (_ IN CASE WHEN v IS NOT NULL THEN [1] ELSE [] END | SET v = properties(p))
  SET p = properties(s)
  RETURN count(p) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN written
