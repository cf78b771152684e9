// Make an undirected projection in the memory of GDS out of parameters alone: nothing is read from the
// database, and nothing written to it. Nodes are numbered by their row. They come first, one by one, so those
// without an edge are there too and all have their features.
// Parameters: name, n (number of nodes), sources, targets (rows of each edge, once), weights (none: an empty
// list), features (none: an empty list; per node a list of numbers, or a map from column to number, in
// which what is missing is 0), columns (the keys of those maps; null for lists).
CALL () {
  UNWIND range(0, $n - 1) AS source
  RETURN source, null AS target, null AS weight,
    CASE
      WHEN $columns IS NULL THEN $features[source]
      ELSE [column IN $columns | coalesce($features[source][column], 0.0)]
    END AS features
  UNION ALL
  UNWIND range(0, size($sources) - 1) AS i
  RETURN $sources[i] AS source, $targets[i] AS target, $weights[i] AS weight, null AS features
}
WITH gds.graph.project($name, source, target, {
  sourceNodeProperties: CASE WHEN features IS NULL THEN null ELSE {features: features} END,
  targetNodeProperties: null,
  relationshipProperties: CASE WHEN weight IS NULL THEN null ELSE {weight: weight} END
}, {undirectedRelationshipTypes: ['*']}) AS projection
RETURN projection.nodeCount AS nodes, projection.relationshipCount AS relationships
