// Of the runs that were published once, those that the version of the (locked) model is of are complete, the others
// superseded. Parameters: node (the model's).
MATCH (m:HeatModel) WHERE elementId(m) = $node
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', number: m.version})
MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name})
WHERE r.status IN ['complete', 'superseded']
WITH r, CASE WHEN r.runId IN [v.run, v.linkRun] THEN 'complete' ELSE 'superseded' END AS status
WHERE r.status <> status
SET r.status = status
