// Tell readers of the (published) run's indexes, or with nulls that there are none. No row if it is not published any
// more. Parameters: model, run, vector (property), scale, indexes, core.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
SET m.lock = true REMOVE m.lock
WITH m WHERE m.run = $run
SET m.vectorProperty = $vector, m.vectorScale = $scale, m.indexes = $indexes, m.core = $core
RETURN m.run AS run
