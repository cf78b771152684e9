// Like nodes.cypher, but finds nodes by their ids: faster if most numbers of the range are nodes of the projection. The
// range bounds the memory. Parameters: heat_first, heat_last, heat_beginning (the element id before its number).
UNWIND range($heat_first, $heat_last) AS number
MATCH (n:@labels)
WHERE elementId(n) = $heat_beginning + toString(number) AND (
  @node_filter
)
RETURN labels(n) AS labels, collect(number) AS numbers, collect(COUNT { (n)-[@bound]->() }) AS degrees
