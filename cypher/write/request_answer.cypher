// Write the answer on a request. No row if it is not ours any more.
// Parameters: id, claim, answer (a map: status, outcome, message, runId).
MATCH (q:HeatRequest) WHERE elementId(q) = $id
SET q.lock = true REMOVE q.lock
WITH q WHERE q.claim = $claim
SET q += $answer, q.finishedAt = datetime(), q.progress = 1.0, q.stage = null, q.claim = null, q.claimedUntil = null
RETURN q.status AS status
