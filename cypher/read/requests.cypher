// Requests that a worker of a model may claim: those that wait, and those whose worker has not renewed its claim; by
// when they were made, if they tell. Requests that no worker can do are among them, whatever their model: those for a
// model that is not in the database, for which `fault` is given, and those whose model or status is no text. None while
// a refresh holds the lease of the model. A node with another label, too, is no request.
// Parameters: model, skipped (ids of requests to leave out), longest (seconds; a lease that ends later is none).
MATCH (q:HeatRequest)
WHERE size(labels(q)) = 1 AND NOT elementId(q) IN $skipped
  AND (NOT q.status IS :: STRING OR coalesce(q.status, 'waiting') = 'waiting'
    OR q.status = 'running' AND coalesce(q.claimedUntil < datetime(), true))
  AND NOT EXISTS {
    MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
    WHERE datetime() < m.leaseUntil <= datetime() + duration({seconds: $longest})
  }
WITH q, CASE WHEN q.model IS :: STRING THEN coalesce(q.model, 'heat') END AS model
WITH q, model, model <> $model AND NOT EXISTS { MATCH (:HeatModel {name: model, createdBy: 'heat_neo4j'}) } AS isUnknown
WHERE model IS NULL OR model = $model OR isUnknown
RETURN elementId(q) AS id, CASE WHEN isUnknown THEN left(model, 100) END AS unknown
ORDER BY q.requestedAt, id LIMIT 20
