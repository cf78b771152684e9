// Property keys of some nodes, without what runs of this package wrote there. Parameters: limit.
CALL () {
  MATCH (run:HeatRun {createdBy: 'heat_neo4j'})
  RETURN reduce(all = [], names IN collect([run.embeddingProperty, run.radiusProperty, run.runProperty, run.vectorProperty])
                | all + names) AS written
}
MATCH (n:@labels)
WITH n, written LIMIT $limit
UNWIND keys(n) AS key
WITH DISTINCT key, written
WHERE NOT coalesce(key IN written, false)
RETURN collect(key) AS keys
