// Some nodes of the projection, spread over all of it: element ids and labels.
// Parameters: heat_prefix (length of an element id before its number), heat_stride (takes one node in so
// many).
MATCH (n:@labels)
WHERE (
  @node_filter
) AND toInteger(substring(elementId(n), $heat_prefix)) % $heat_stride = 0
RETURN collect(elementId(n)) AS ids, collect(labels(n)) AS labels
