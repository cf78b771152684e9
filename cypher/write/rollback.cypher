// Let the (locked) model point to the version before; what it pointed to is kept in its place.
// Parameters: model, published and kept (on the model).
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
SET m += $published, m += $kept, m.publishedAt = datetime(), m.rolledBackAt = datetime()
