// All properties of some nodes, except those that our runs wrote. Parameters: nodes (element ids).
CALL () {
  MATCH (run:HeatRun {createdBy: 'heat_neo4j'})
  UNWIND [run.embeddingProperty, run.radiusProperty, run.runProperty, run.vectorProperty] AS name
  WITH name WHERE name IS :: STRING
  UNWIND ['', 'Staged', 'Previous'] AS copy
  RETURN collect(DISTINCT name + copy) AS written
}
UNWIND $nodes AS id
MATCH (n) WHERE elementId(n) = id
RETURN id, [key IN keys(n) WHERE NOT key IN written | [key, n[key]]] AS properties
