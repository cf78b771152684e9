// How many nodes the projection has.
MATCH (n:@labels)
WHERE (
  @node_filter
)
RETURN count(n) AS nodes
