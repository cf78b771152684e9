// The likeliest predicted links of some nodes, whichever way they lead, by rank. Parameters: nodes (element ids), run, most (of
// each node), show (property keys of the other end).
UNWIND $nodes AS id
MATCH (n) WHERE elementId(n) = id
CALL (n) {
  MATCH (n)-[p:@type]-(b) WHERE p.run = $run
  RETURN p, b
  ORDER BY p.rank LIMIT $most
}
RETURN id, p.type AS type, startNode(p) = n AS leaves, p.probability AS probability, p.distance AS distance, p.rank AS rank,
       elementId(b) AS other, labels(b) AS labels, [key IN $show | b[key]] AS shown
ORDER BY rank, id
