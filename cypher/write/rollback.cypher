// Note on the (locked) model that it is turned to the version before. Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
SET m.publishedAt = datetime(), m.rolledBackAt = datetime()
