// Property keys of some nodes, and of some relationships between such nodes, without what runs of this package wrote
// there. Parameters: limit.
CALL () {
  MATCH (run:HeatRun {createdBy: 'heat_neo4j'})
  RETURN collect(run.linkType) AS types,
         reduce(all = [], names IN collect([run.embeddingProperty, run.radiusProperty, run.runProperty, run.vectorProperty])
                | all + names) AS written
}
CALL (written) {
  MATCH (n:@labels)
  WITH n, written LIMIT $limit
  UNWIND keys(n) AS key
  WITH DISTINCT key, written
  RETURN collect(CASE WHEN NOT coalesce(key IN written, false) THEN key END) AS nodes
}
CALL (types) {
  MATCH (:@labels)-[r]->(:@labels)
  WHERE NOT type(r) IN types
  WITH r LIMIT $limit
  UNWIND keys(r) AS key
  RETURN collect(DISTINCT key) AS relationships
}
RETURN nodes, relationships
