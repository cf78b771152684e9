// Remove predicted links of one type, in batches: those of some runs, or all except those of one. The user's
// relationships stay.
// Parameters: model, lock, holder, most (in all), rows (in a batch), runs (null: all), kept (a run, or null), run_id
// (the pattern of run ids).
MATCH ()-[p:@type]->()
WHERE p.run IN $runs OR ($runs IS NULL AND p.run =~ $run_id AND ($kept IS NULL OR p.run <> $kept))
WITH p LIMIT $most
WITH collect(p) AS links
UNWIND range(0, size(links) - 1, $rows) AS begin
WITH links[begin .. begin + $rows] AS batch
CALL (batch) {
  @lock
  UNWIND batch AS p
  DELETE p
  RETURN count(*) AS written
} IN TRANSACTIONS OF 1 ROW
RETURN size(batch) AS found, written
