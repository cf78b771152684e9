// How many nodes of the projection have no relationship of it, and how many the most joined one has, wherever they lead.
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
RETURN count(CASE degree WHEN 0 THEN 1 END) AS isolated, max(degree) AS largest
