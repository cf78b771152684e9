// Take the lease of a model if nobody holds it, it has expired (or ends later than any lease can), its holder is dead,
// or we hold it. One row: the holder, until when, and the run that was being published. No row if the model has no
// node, or two. Deletes the previous holder's locks, which waits for its running batches; its runs can write no more.
// Parameters: model, holder, dead (a holder, or null), seconds, longest (seconds), locks (how many).
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
SET m.lock = true REMOVE m.lock
WITH m WHERE m.name IS NOT NULL
WITH collect(m) AS models
UNWIND CASE size(models) WHEN 1 THEN models ELSE [] END AS m
WITH m, coalesce(m.leaseHolder IN [$holder, coalesce($dead, $holder)] OR m.leaseUntil < datetime()
  OR m.leaseUntil > datetime() + duration({seconds: $longest}), true) AS free
FOREACH (_ IN CASE WHEN free THEN [1] ELSE [] END |
  SET m.leaseHolder = $holder, m.leaseUntil = datetime() + duration({seconds: $seconds}))
WITH m, free
CALL (m, free) {
  WITH m, free WHERE free
  MATCH (m)-[lock:HEAT_WRITE_LOCK]->(m)
  DELETE lock
}
CALL (m, free) {
  WITH m, free WHERE free
  UNWIND range(0, $locks - 1) AS lock
  CREATE (m)-[:HEAT_WRITE_LOCK {number: lock, holder: $holder}]->(m)
}
CALL (m, free) {
  WITH m, free WHERE free
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name, status: 'incomplete'})
  SET r.status = 'removing'
}
RETURN elementId(m) AS node, free, m.leaseHolder AS holder, m.leaseUntil AS until, m.staging AS staging
