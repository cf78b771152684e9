// Delete the nodes of versions to which readers of the (locked) model were never switched, and of those before the last
// two: readers who asked just before a switch still find what they were sent to.
// Parameters: node (the model's).
MATCH (m:HeatModel) WHERE elementId(m) = $node
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
WHERE v.number > coalesce(m.version, 0) OR v.number < m.version - 1
DELETE v
