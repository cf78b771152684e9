// Claim a request that waits, or whose worker has not renewed its claim: one row with what is asked for, none if
// another worker was quicker. A request that was claimed too often, or of which a property has a type that no request
// has, has failed, which the row says.
// Parameters: id, worker, claim (a name for this claim), seconds (how long it lasts), attempts (how many there may be),
// fault (why the request cannot be done, null if that is not known yet).
MATCH (q:HeatRequest) WHERE elementId(q) = $id AND size(labels(q)) = 1
SET q.lock = true REMOVE q.lock
WITH q, q.status IS :: STRING AS isStated
WHERE NOT isStated OR coalesce(q.status, 'waiting') = 'waiting'
  OR q.status = 'running' AND coalesce(q.claimedUntil < datetime(), true)
WITH q, CASE
  WHEN $fault IS NOT NULL THEN $fault
  WHEN NOT isStated THEN 'status must be a text, got ' + valueType(q.status)
  WHEN NOT q.model IS :: STRING THEN 'model must be a text, got ' + valueType(q.model)
  WHEN NOT q.action IS :: STRING THEN 'action must be a text, got ' + valueType(q.action)
  WHEN NOT q.mode IS :: STRING THEN 'mode must be a text, got ' + valueType(q.mode)
  WHEN NOT q.attempts IS :: INTEGER THEN 'attempts must be a whole number, got ' + valueType(q.attempts)
  WHEN coalesce(q.attempts, 0) < 0 THEN 'attempts must not be negative'
  WHEN coalesce(q.attempts, 0) >= $attempts THEN 'each of ' + $attempts + ' workers that began it died: see their logs'
END AS fault
SET q += CASE WHEN fault IS NOT NULL
  THEN {status: 'failed', outcome: 'failed', finishedAt: datetime(), claim: null, claimedUntil: null, message: fault}
  ELSE {status: 'running', worker: $worker, claim: $claim, claimedAt: datetime(), attempts: coalesce(q.attempts, 0) + 1,
        claimedUntil: datetime() + duration({seconds: $seconds}), stage: null, progress: 0.0, message: null}
  END
RETURN fault, CASE WHEN fault IS NULL THEN q.action END AS action, CASE WHEN fault IS NULL THEN q.mode END AS mode,
  CASE WHEN fault IS NULL THEN q.attempts END AS attempts
