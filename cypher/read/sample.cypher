// Some nodes of the projection, spread over all of it: element ids and labels.
// Parameters: heat_prefix (length of an element id before its number), heat_stride (takes one node in so
// many; scrambled, because nodes that were created in turn with others may have odd numbers only).
MATCH (n:@labels)
WHERE (
  @node_filter
) AND toInteger(substring(elementId(n), $heat_prefix)) % 2147483647 * 134775813 % 2147483647 % $heat_stride = 0
RETURN collect(elementId(n)) AS ids, collect(labels(n)) AS labels
