// Predicted links of one run that leave the given nodes, as columns: the positions of the nodes that exist; and for each
// link its rank, the position of its source, the element id of its target, type, distance, and probability (null if the
// run gave none). Parameters: ids and the others of same_node, run.
UNWIND range(0, size($ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $ids[i] AND @same
OPTIONAL MATCH (n)-[p:@type]->(b) WHERE p.run = $run
WITH collect(DISTINCT i) AS there,
     collect(CASE WHEN p IS NOT NULL THEN [p.rank, i, elementId(b), p.type, p.distance, p.probability] END) AS rows
RETURN there, [row IN rows | row[0]] AS ranks, [row IN rows | row[1]] AS sources, [row IN rows | row[2]] AS targets,
  [row IN rows | row[3]] AS types, [row IN rows | row[4]] AS distances, [row IN rows | row[5]] AS probabilities
