// Requests for a model that a worker may claim: those that wait, and those whose worker has not renewed its claim; by
// when they were made, if they tell. None while a refresh holds the lease of the model. Parameters: model.
MATCH (q:HeatRequest)
WHERE coalesce(q.model, 'heat') = $model
  AND (coalesce(q.status, 'waiting') = 'waiting' OR q.status = 'running' AND coalesce(q.claimedUntil < datetime(), true))
  AND NOT EXISTS {
    MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'}) WHERE m.leaseUntil > datetime()
  }
RETURN elementId(q) AS id
ORDER BY q.requestedAt, id LIMIT 20
