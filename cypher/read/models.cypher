// The model nodes.
MATCH (m:HeatModel {createdBy: 'heat_neo4j'})
RETURN properties(m) AS model
ORDER BY m.name
