// Property keys of some nodes, except those that our runs wrote. Parameters: limit.
CALL () {
  MATCH (run:HeatRun {createdBy: 'heat_neo4j'})
  UNWIND [run.embeddingProperty, run.radiusProperty, run.runProperty, run.vectorProperty]
         + coalesce(run.valueProperties, []) AS name
  WITH name WHERE name IS :: STRING
  UNWIND ['', 'Staged', 'Previous'] AS copy
  RETURN collect(DISTINCT name + copy) AS written
}
MATCH (n:@labels)
WITH n, written LIMIT $limit
UNWIND keys(n) AS key
WITH DISTINCT key, written
WHERE NOT coalesce(key IN written, false)
RETURN collect(key) AS keys
