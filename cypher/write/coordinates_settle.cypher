// Move staged coordinates, or other values, to their plain names, in batches, and the replaced ones to their previous names: of staged
// nodes, and of nodes of a space without readers. A batch is moved only once.
// Parameters: model, lock, holder, most (in all), rows (in a batch), before (the run whose version is replaced, or
// null: nothing is kept of it), left (the space that nobody reads any more, or null), run_id (the pattern of run ids:
// other values stay).
MATCH (n:@labels) WHERE (n.@staged_run = '' OR n.@staged_run =~ $run_id OR n.@run = $left)
  AND CASE WHEN $before IS NOT NULL THEN coalesce(n.@previous_run <> $before, true)
    ELSE n.@previous_run IS NOT NULL OR coalesce(n.@run, '') <> n.@staged_run END
WITH n LIMIT $most
WITH collect(n) AS nodes
UNWIND range(0, size(nodes) - 1, $rows) AS begin
WITH nodes[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS n
  WITH n WHERE $before IS NULL OR coalesce(n.@previous_run <> $before, true)
  SET
      n.@previous_value = CASE WHEN $before IS NOT NULL THEN n.@value END,
      n.@previous_run = $before
  SET
      n.@value = n.@staged_value,
      n.@run = CASE WHEN n.@staged_run <> '' THEN n.@staged_run END
  RETURN count(n) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
