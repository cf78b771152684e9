// The (locked) model forgets the version before the published one. Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
SET m.previous = null, m.previousRun = null, m.previousLinkRun = null
