// How many relationships of each type leave the nodes of the projection, to any target.
MATCH (n:@labels)-[r@types]->()
WHERE (
  @node_filter
) AND (
  @relationship_filter
)
RETURN type(r) AS type, count(r) AS relationships
ORDER BY type
