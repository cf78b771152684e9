// Delete the nodes of versions that the (locked) model was never turned to, and of those before the last two: readers who
// asked just before a flip still find what they were sent to.
// Parameters: node (the model's).
MATCH (m:HeatModel) WHERE elementId(m) = $node
MATCH (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j'})
WHERE v.number > coalesce(m.version, 0) OR v.number < m.version - 1
DELETE v
