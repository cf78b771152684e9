// The model's node, made if there is none yet. It tells readers which version is published, and that which properties
// hold the coordinates and which run wrote the links.
// createdBy tells our nodes from a user's own with the same label.
// Parameters: model.
MERGE (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
