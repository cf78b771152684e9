// The node of a version to which readers of the (locked) model shall be switched, under the next number; it goes unread
// until then. Parameters: node (the model's), token (which tells it from others of the number), properties.
MATCH (m:HeatModel) WHERE elementId(m) = $node
CREATE (v:HeatVersion {model: m.name, createdBy: 'heat_neo4j', number: coalesce(m.version, 0) + 1, token: $token})
SET v += $properties
