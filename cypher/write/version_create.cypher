// The node of a version that the (locked) model shall be turned to, under the next number; it goes unread until then.
// Parameters: node (the model's), token (by which whoever made it knows it), properties.
MATCH (m:HeatModel) WHERE elementId(m) = $node
CREATE (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', number: coalesce(m.version, 0) + 1, token: $token})
SET v += $properties
