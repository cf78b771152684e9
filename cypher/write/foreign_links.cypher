// Relationships of the type we want to write that no run of this model wrote.
// Parameters: runs (ids of the runs of this model whose links are in the graph).
MATCH ()-[p:@type]->()
WHERE NOT coalesce(p.run IN $runs, false)
RETURN count(p) AS found, min(elementId(p)) AS example
