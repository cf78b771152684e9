// Whose coordinates are published now. Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
RETURN m.run AS run
