// Note on the (locked) model that its readers are switched to the version before. Parameters: node (the model's).
MATCH (m:HeatModel) WHERE elementId(m) = $node
SET m.publishedAt = datetime(), m.rolledBackAt = datetime()
