// Take away the relationships from the (locked) model to runs it points to no more. Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})-[p:HEAT_PUBLISHED]->(r:HeatRun)
WHERE NOT r.runId IN [coalesce(m.run, ''), coalesce(m.linkRun, '')]
DELETE p
