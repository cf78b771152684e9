// How many nodes of the projection have no relationship of it, wherever it would lead.
MATCH (n:@labels)
WHERE (
  @node_filter
) AND NOT EXISTS {
  MATCH (n)-[r@types]-()
  WHERE (
    @relationship_filter
  )
}
RETURN count(n) AS nodes
