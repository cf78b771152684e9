// Relate the (locked) model to the runs that its version is of. Parameters: node (the model's).
MATCH (m:HeatModel) WHERE elementId(m) = $node
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', number: m.version})
MATCH (r:HeatRun {createdBy: 'heat_neo4j', model: m.name})
WHERE r.runId IN [coalesce(v.run, ''), coalesce(v.linkRun, '')]
MERGE (m)-[:HEAT_PUBLISHED]->(r)
