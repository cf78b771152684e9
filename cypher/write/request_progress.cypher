// Renew a claim, and say how far the work is. No row if it is not ours any more.
// Parameters: id, claim, seconds, stage, progress (0 to 1, of all).
MATCH (q:HeatRequest) WHERE elementId(q) = $id
SET q.lock = true REMOVE q.lock
WITH q WHERE q.claim = $claim
SET q.claimedUntil = datetime() + duration({seconds: $seconds}), q.stage = $stage, q.progress = $progress
RETURN q.claim AS claim
