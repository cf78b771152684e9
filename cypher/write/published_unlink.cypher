// Take away the relationships from the (locked) model to runs that its version is not of.
// Parameters: node (the model's).
MATCH (m:HeatModel) WHERE elementId(m) = $node
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', number: m.version})
MATCH (m)-[p:HEAT_PUBLISHED]->(r:HeatRun)
WHERE NOT r.runId IN [coalesce(v.run, ''), coalesce(v.linkRun, '')]
DELETE p
