// Stage what the last publication replaced, in batches. A node that had no values is staged without any.
// Parameters: model, lock, holder, most (in all), rows (in a batch), before (the run whose version is staged), space
// (of that version).
MATCH (n:@labels) WHERE n.@previous_run = $before AND n.@staged_run IS NULL
WITH n LIMIT $most
WITH collect(n) AS nodes
UNWIND range(0, size(nodes) - 1, $rows) AS begin
WITH nodes[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS n
  SET
      n.@staged_value = n.@previous_value,
      n.@staged_run = CASE WHEN coalesce(
        n.@previous_value,
        null) IS NULL THEN '' ELSE $space END
  RETURN count(n) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
