// Take the lease of the (locked) model, if nobody holds it, its time is over, its holder is dead, or it is ours: one row,
// which says who holds it now, until when, and which run was being published. The lanes of the holder before go, which
// waits for its batches under way; runs that it was writing write no more.
// Parameters: node (the model's), holder, dead (a holder, or null), seconds, lanes (how many).
MATCH (m:HeatModel) WHERE elementId(m) = $node
WITH m, coalesce(m.leaseHolder IN [$holder, coalesce($dead, $holder)] OR m.leaseUntil < datetime(), true) AS free
FOREACH (_ IN CASE WHEN free THEN [1] ELSE [] END |
  SET m.leaseHolder = $holder, m.leaseUntil = datetime() + duration({seconds: $seconds}))
WITH m, free
CALL (m, free) {
  WITH m, free WHERE free
  MATCH (m)-[lane:HEAT_LANE]->(m)
  DELETE lane
}
CALL (m, free) {
  WITH m, free WHERE free
  UNWIND range(0, $lanes - 1) AS lane
  CREATE (m)-[:HEAT_LANE {lane: lane, holder: $holder}]->(m)
}
CALL (m, free) {
  WITH m, free WHERE free
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name, status: 'incomplete'})
  SET r.status = 'removing'
}
RETURN free, m.leaseHolder AS holder, m.leaseUntil AS until, m.staging AS staging
