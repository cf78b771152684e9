// Complete runs that the (locked) model points to no more. Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name, status: 'complete'})
WHERE NOT r.runId IN [coalesce(m.run, ''), coalesce(m.linkRun, '')]
SET r.status = 'superseded'
