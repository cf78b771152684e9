// Nodes with coordinates that a run wrote, at most limit of them. Every node is looked at: one may have lost the
// label it was read by. Parameters: run, limit.
MATCH (n) WHERE n.@run = $run
WITH n LIMIT $limit
RETURN collect(elementId(n)) AS ids
