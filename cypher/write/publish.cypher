// The flip, after publish_hold: the run becomes complete and the model points to it; what it pointed to before is kept
// for a rollback.
// Parameters: model, run, outcome (of the run), published and kept (on the model).
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
SET r += $outcome, r.status = 'complete', r.finishedAt = datetime(),
    m += $published, m += $kept, m.publishedAt = datetime()
WITH r
MATCH (r)-[lane:HEAT_LANE]->(r)
DELETE lane
