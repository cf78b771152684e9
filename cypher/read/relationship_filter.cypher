// Compiles the relationship filter and reads nothing.
MATCH ()-[r]->()
WHERE (
  @relationship_filter
)
RETURN r
LIMIT 0
