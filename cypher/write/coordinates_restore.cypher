// Move what a publication replaced back to its plain names, in batches: the publication cannot be finished.
// Parameters: model, lock, holder, most (in all), rows (in a batch), before (the run whose version was replaced), space
// (of that version).
MATCH (n:@labels) WHERE n.@previous_run = $before
WITH n LIMIT $most
WITH collect(n) AS nodes
UNWIND range(0, size(nodes) - 1, $rows) AS begin
WITH nodes[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS n
  SET
      n.@value = n.@previous_value,
      n.@run = CASE WHEN coalesce(
        n.@previous_value,
        null) IS NOT NULL THEN $space END
  REMOVE n.@previous_value
  REMOVE n.@previous_run
  RETURN count(n) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
