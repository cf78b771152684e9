// Note on the (locked) model that it is turned to the version before. Parameters: node (the model's).
MATCH (m:HeatModel) WHERE elementId(m) = $node
SET m.publishedAt = datetime(), m.rolledBackAt = datetime()
