// Create the model's node if there is none. It holds the number of the published version, whose node names the properties
// of the coordinates and the run of the links.
// createdBy distinguishes our nodes from a user's with the same label; one with another label too belongs to the user.
// Parameters: model.
OPTIONAL MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'}) WHERE size(labels(m)) = 1
WITH count(m) AS found WHERE found = 0
CREATE (:HeatModel {name: $model, createdBy: 'heat_neo4j'})
