// Predicted links of one run that leave the given nodes, as columns: rank, the position in ids of the source, the element
// id of the target, type, distance, and probability (null if the run gave none). Parameters: ids, run.
UNWIND range(0, size($ids) - 1) AS i
MATCH (a)-[p:@type]->(b) WHERE elementId(a) = $ids[i] AND p.run = $run
WITH collect([p.rank, i, elementId(b), p.type, p.distance, p.probability]) AS rows
RETURN [row IN rows | row[0]] AS ranks, [row IN rows | row[1]] AS sources, [row IN rows | row[2]] AS targets,
  [row IN rows | row[3]] AS types, [row IN rows | row[4]] AS distances, [row IN rows | row[5]] AS probabilities
