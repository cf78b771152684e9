// Remove model nodes that two runs created concurrently; the first one stays.
// Parameters: ids.
MATCH (m:HeatModel {createdBy: 'heat_neo4j'})
WHERE elementId(m) IN $ids AND size(labels(m)) = 1
DETACH DELETE m
