// How many nodes of the projection have no relationship in it, counting all targets.
MATCH (n:@labels)
WHERE (
  @node_filter
)
WITH COUNT {
  MATCH (n)-[r@types]-()
  WHERE (
    @relationship_filter
  )
} AS degree
RETURN count(CASE degree WHEN 0 THEN 1 END) AS isolated
