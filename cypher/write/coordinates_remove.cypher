// Remove one copy of the coordinates from all nodes, in batches.
// Parameters: model, lock, holder, most (in all), rows (in a batch), spaces (only those of some runs, or null).
MATCH (n) WHERE n.@run IS NOT NULL AND ($spaces IS NULL OR n.@run IN $spaces)
WITH n LIMIT $most
WITH collect(n) AS nodes
UNWIND range(0, size(nodes) - 1, $rows) AS begin
WITH nodes[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS n
  REMOVE n.@embedding, n.@radius, n.@run, n.@vector
  RETURN count(n) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
