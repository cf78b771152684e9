// Copy the predicted links of a run from one type to another, in batches; a repetition adds none.
// Parameters: model, lock, holder, most (in all), rows (in a batch), run.
MATCH (a)-[p:@source]->(b) WHERE p.run = $run AND NOT EXISTS { (a)-[:@target {run: $run, type: p.type}]->(b) }
WITH p LIMIT $most
WITH collect(p) AS links
UNWIND range(0, size(links) - 1, $rows) AS begin
WITH links[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS p
  WITH p, startNode(p) AS a, endNode(p) AS b
  MERGE (a)-[q:@target {run: $run, type: p.type}]->(b)
  SET q += properties(p)
  RETURN count(q) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
