// Claim a request that waits, or whose worker has not renewed its claim: one row with what is asked for, none if
// another worker was quicker. One that was claimed too often has failed, which the row says.
// Parameters: id, worker, claim (a name for this claim), seconds (how long it lasts), attempts (how many there may be).
MATCH (q:HeatRequest) WHERE elementId(q) = $id
SET q.lock = true REMOVE q.lock
WITH q
WHERE coalesce(q.status, 'waiting') = 'waiting' OR q.status = 'running' AND coalesce(q.claimedUntil < datetime(), true)
SET q += CASE WHEN coalesce(q.attempts, 0) >= $attempts
  THEN {status: 'failed', outcome: 'failed', finishedAt: datetime(), claim: null, claimedUntil: null,
        message: 'each of ' + $attempts + ' workers that began it died: see their logs'}
  ELSE {status: 'running', worker: $worker, claim: $claim, claimedAt: datetime(), attempts: coalesce(q.attempts, 0) + 1,
        claimedUntil: datetime() + duration({seconds: $seconds}), stage: null, progress: 0.0, message: null}
  END
RETURN q.status AS status, q.action AS action, q.mode AS mode
