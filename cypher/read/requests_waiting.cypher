// Requests that no worker has taken, by model (null if it is no text): how many, how many of them for longer than some
// seconds, and since when, to the minute. They wait since `requestedAt`, if they tell, or since the claim of a dead
// worker ended. While a refresh holds the lease of the model, waiting is as it should be.
// Parameters: seconds, longest (seconds; a lease that ends later is none).
MATCH (q:HeatRequest)
WHERE size(labels(q)) = 1 AND (NOT q.status IS :: STRING OR coalesce(q.status, 'waiting') = 'waiting'
  OR q.status = 'running' AND coalesce(q.claimedUntil < datetime(), true))
WITH CASE WHEN q.model IS :: STRING THEN coalesce(q.model, 'heat') END AS model,
  CASE q.status WHEN 'running' THEN q.claimedUntil ELSE q.requestedAt END AS since
WITH model, CASE WHEN since IS :: ZONED DATETIME NOT NULL THEN since END AS since
WITH model, count(*) AS waiting, min(since) AS since,
  count(CASE WHEN since < datetime() - duration({seconds: $seconds}) THEN 1 END) AS late
OPTIONAL MATCH (m:HeatModel {name: model, createdBy: 'heat_neo4j'})
WITH model, waiting, since, late, count(m) > 0 AS isKnown,
  max(datetime() < m.leaseUntil <= datetime() + duration({seconds: $longest})) AS isLeased
RETURN left(model, 100) AS model, waiting, CASE WHEN coalesce(isLeased, false) THEN 0 ELSE late END AS late, isKnown,
  CASE WHEN since IS NOT NULL THEN toString(datetime.truncate('minute', since)) END AS since
ORDER BY late DESC, model LIMIT 20
