// The model's node, made if there is none yet. It is the published address of a model: readers ask it which
// properties hold the current coordinates and which run wrote the current links.
// createdBy tells our nodes from a user's own with the same label.
// Parameters: model.
MERGE (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
