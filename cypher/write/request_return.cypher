// Have a claimed request wait again; the claim does not count. No row if it is not ours any more.
// Parameters: id, claim, attempts (before this claim), message.
MATCH (q:HeatRequest) WHERE elementId(q) = $id
SET q.lock = true REMOVE q.lock
WITH q WHERE q.claim = $claim
SET q.status = 'waiting', q.message = $message, q.attempts = $attempts, q.worker = null, q.claimedAt = null,
  q.stage = null, q.progress = null, q.claim = null, q.claimedUntil = null
RETURN q.status AS status
