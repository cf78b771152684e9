// How many nodes paths of a type lead to from some nodes, and from how many they lead to them; at most heat_most
// of each node. Parameters: heat_prefix (length of an element id before its number), heat_stride (takes one node
// in so many, as sample does), heat_most.
MATCH (n:@labels)
WHERE (
  @node_filter
) AND toInteger(substring(elementId(n), $heat_prefix)) % 2147483647 * 134775813 % 2147483647 % $heat_stride = 0
WITH COUNT { MATCH (n)-[:@type*1..]->(m) RETURN DISTINCT m LIMIT $heat_most } AS ahead,
     COUNT { MATCH (n)<-[:@type*1..]-(m) RETURN DISTINCT m LIMIT $heat_most } AS behind
RETURN avg(ahead) AS ahead, max(ahead) AS most_ahead, avg(behind) AS behind, max(behind) AS most_behind
