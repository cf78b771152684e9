// Relationships that leave the given nodes, one record for each type, of two lists: position of the source in heat_ids
// and number in the element id of the target. Parameters: heat_ids (element ids), heat_prefix (length of an element id
// before its number).
UNWIND range(0, size($heat_ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $heat_ids[i]
MATCH (n)-[r@types]->(m)
WHERE (
  @relationship_filter
)
RETURN type(r) AS type, collect(i) AS sources, collect(toInteger(substring(elementId(m), $heat_prefix))) AS targets
