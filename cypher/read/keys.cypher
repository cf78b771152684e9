// Property keys of some nodes, and of some relationships between such nodes. Parameters: limit.
CALL () {
  MATCH (n:@labels)
  WITH n LIMIT $limit
  UNWIND keys(n) AS key
  RETURN collect(DISTINCT key) AS nodes
}
CALL () {
  MATCH (:@labels)-[r]->(:@labels)
  WITH r LIMIT $limit
  UNWIND keys(r) AS key
  RETURN collect(DISTINCT key) AS relationships
}
RETURN nodes, relationships
