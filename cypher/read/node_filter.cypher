// Compiles the node filter and reads nothing.
MATCH (n)
WHERE (
  @node_filter
)
RETURN n
LIMIT 0
