// Properties of some nodes of the projection, spread over all of it, one list for each key.
// Parameters: heat_prefix (length of an element id before its number), heat_stride (takes one node in so
// many), heat_keys.
MATCH (n:@labels)
WHERE (
  @node_filter
) AND toInteger(substring(elementId(n), $heat_prefix)) % $heat_stride = 0
WITH collect(n) AS nodes
RETURN [key IN $heat_keys | [n IN nodes | n[key]]] AS columns
