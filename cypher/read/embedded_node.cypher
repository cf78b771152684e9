// Whether a node has the published coordinates of a model, and what there is to search them by.
// Parameters: model, node (element id).
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
// All of it at once: meanwhile the node may be turned to another version.
WITH properties(m) AS m
MATCH (n) WHERE elementId(n) = $node
RETURN coalesce(n[m.runProperty] = m.run, false) AS embedded, coalesce(size(m.indexes), 0) AS indexes,
       coalesce(n[m.vectorProperty] IS NOT NULL, false) AS vector, m.coordinates AS coordinates, m.run AS run
