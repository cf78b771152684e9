// Number of relationships at nodes with $heat_least or more neighbours; one between two such nodes counts twice.
MATCH (n:@labels)
WHERE (
  @node_filter
)
WITH n, COUNT {
  MATCH (n)-[r@types]-()
  WHERE (
    @relationship_filter
  )
} AS degree
WHERE degree >= $heat_least AND COUNT {
  MATCH (n)-[r@types]-(other)
  WHERE (
    @relationship_filter
  )
  RETURN DISTINCT other
} >= $heat_least
RETURN sum(degree) AS ends
