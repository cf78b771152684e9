// Remove one copy of the coordinates, or of other values, from nodes, in batches; a node whose run property holds no run id keeps its values.
// Parameters: model, lock, holder, most (in all), rows (in a batch), spaces (ids of runs), run_id (the form of a run's
// id, to remove those of all runs, or null).
MATCH (n:@labels) WHERE n.@run IN $spaces OR n.@run =~ $run_id
WITH n LIMIT $most
WITH collect(n) AS nodes
UNWIND range(0, size(nodes) - 1, $rows) AS begin
WITH nodes[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS n
  REMOVE n.@value
  REMOVE n.@run
  RETURN count(n) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
