// Relate the (locked) model to the runs it points to. Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name})
WHERE r.runId IN [coalesce(m.run, ''), coalesce(m.linkRun, '')]
MERGE (m)-[:HEAT_PUBLISHED]->(r)
