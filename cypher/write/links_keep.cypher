// Move the remaining plain links of a replaced version to the previous copy, in batches. A repetition moves what earlier
// attempts left.
// Parameters: model, lock, holder, most (in all), rows (in a batch), run (that is replaced).
MATCH ()-[p:@plain]->() WHERE p.run = $run
WITH p LIMIT $most
WITH collect(p) AS links
UNWIND range(0, size(links) - 1, $rows) AS begin
WITH links[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS p
  WITH p, startNode(p) AS a, endNode(p) AS b
  CREATE (a)-[v:@previous]->(b)
  SET v = properties(p)
  DELETE p
  RETURN count(*) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
