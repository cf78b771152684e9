// The run nodes, latest first. Parameters: current (true leaves out those of which nothing is in the graph).
MATCH (r:HeatRun {createdBy: 'heat_neo4j'})
WHERE NOT $current OR size(r.stored) > 0 OR r.status IN ['incomplete', 'removing']
RETURN properties(r) AS run
ORDER BY r.startedAt DESC, r.runId DESC
