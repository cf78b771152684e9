// Take away the relationships from the (locked) model to runs that its version is not of. Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', number: m.version})
MATCH (m)-[p:HEAT_PUBLISHED]->(r:HeatRun)
WHERE NOT r.runId IN [coalesce(v.run, ''), coalesce(v.linkRun, '')]
DELETE p
