// Relationships of the types to be written that no run of this model wrote.
// Parameters: runs (ids of the runs of this model whose links are in the graph), plain (the type of published links),
// run_id (the pattern of run ids: what is staged or kept may be of a run that has begun since).
MATCH ()-[p:@copies]->()
WHERE NOT coalesce(CASE type(p) WHEN $plain THEN p.run IN $runs ELSE p.run =~ $run_id END, false)
RETURN count(p) AS found, min(elementId(p)) AS example, min(type(p)) AS type
