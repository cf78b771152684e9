// Like relationships.cypher, with the weight of each relationship in a third list, null if it has none.
// Parameters: heat_ids, heat_prefix, heat_weight (property key).
UNWIND range(0, size($heat_ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $heat_ids[i]
MATCH (n)-[r@types]->(m)
WHERE (
  @relationship_filter
)
// collect() drops nulls, a list comprehension over collected relationships keeps them.
WITH type(r) AS type, collect(i) AS sources,
  collect(toInteger(substring(elementId(m), $heat_prefix))) AS targets, collect(r) AS relationships
RETURN type, sources, targets, [r IN relationships | r[$heat_weight]] AS weights
