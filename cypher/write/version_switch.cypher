// Switch readers to the new version of the model: this statement publishes. It changes the one property that readers
// use; of several they could see a part, because Neo4j has no snapshots. It also updates runs: published ones become
// complete, others superseded, and superseded runs without readable values lose their large properties. No row if the
// lease or the version is gone.
// Parameters: node (the model's), holder, token, run (that is published, or null), outcome (its properties), stamps
// (which times are noted on the model).
@lease
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', token: $token})
SET m.version = v.number,
    m.publishedAt = CASE WHEN 'publishedAt' IN $stamps THEN datetime() ELSE m.publishedAt END,
    m.rolledBackAt = CASE WHEN 'rolledBackAt' IN $stamps THEN datetime() ELSE m.rolledBackAt END
WITH m, v
CALL (m, v) {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name})
  WHERE r.status IN ['complete', 'superseded'] OR r.runId = $run
  FOREACH (_ IN CASE WHEN r.runId = $run THEN [1] ELSE [] END |
    SET r += $outcome, r.finishedAt = coalesce(r.finishedAt, datetime()))
  SET r.status = CASE WHEN r.runId IN [v.run, v.linkRun] THEN 'complete' ELSE 'superseded' END,
      r.indexes = CASE WHEN r.runId = v.run THEN v.indexes END,
      r.stored = [part IN r.parts WHERE
        CASE part WHEN 'links' THEN r.runId IN [v.linkRun, v.previousLinkRun]
                  ELSE r.runId IN [v.run, v.space, v.previousRun, v.previousSpace] END]
  FOREACH (_ IN CASE WHEN r.stored = [] AND r.fingerprint IS NOT NULL THEN [1] ELSE [] END |
    REMOVE r.attributeRecipe, r.fingerprint)
}
CALL (m, v) {
  MATCH (m)-[p:HEAT_PUBLISHED]->(r:HeatRun)
  WHERE NOT coalesce(r.runId IN [v.run, v.linkRun], false)
  DELETE p
}
CALL (m, v) {
  MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name})
  WHERE r.runId IN [v.run, v.linkRun]
  MERGE (m)-[:HEAT_PUBLISHED]->(r)
}
OPTIONAL MATCH (r:HeatRun {createdBy: 'heat_neo4j', runId: $run})
RETURN m.version AS version, properties(r) AS run
