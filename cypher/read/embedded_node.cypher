// Whether a node has the published coordinates of a model, and what there is to search them by.
// Parameters: model, node (element id).
MATCH (model:HeatModel {name: $model, createdBy: 'heat_neo4j'})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, createdBy: 'heat_neo4j', number: version})
MATCH (n) WHERE elementId(n) = $node
RETURN coalesce(coalesce(n[m.stagedRun], n[m.runProperty]) = m.space, false) AS embedded,
       coalesce(size(m.indexes), 0) AS indexes, m.run AS run
