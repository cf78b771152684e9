// Of the runs that were published once, those that the (locked) model points to are complete, the others superseded.
// Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name})
WHERE r.status IN ['complete', 'superseded']
WITH r, CASE WHEN r.runId IN [m.run, m.linkRun] THEN 'complete' ELSE 'superseded' END AS status
WHERE r.status <> status
SET r.status = status
