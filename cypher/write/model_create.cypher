// The model's node, made if there is none yet. It tells readers which version is published, and that which properties
// hold the coordinates and which run wrote the links.
// createdBy tells our nodes from a user's own with the same label; one that has another label, too, is a user's.
// Parameters: model.
OPTIONAL MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
WITH count(m) AS found WHERE found = 0
CREATE (:HeatModel {name: $model, createdBy: 'heat_neo4j'})
