// How many nodes the projection has, and the least and the greatest number in their element ids.
// Parameters: heat_prefix (length of the element id before its number).
MATCH (n:@labels)
WHERE (
  @node_filter
)
WITH toInteger(substring(elementId(n), $heat_prefix)) AS number
RETURN count(number) AS nodes, min(number) AS first, max(number) AS last
