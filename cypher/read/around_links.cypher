// Part of around: the nodes that predicted links join to a node a, the likeliest link first. Parameters: heat_link_run,
// heat_k.
MATCH (a)-[p:@type]-(n) WHERE p.run = $heat_link_run AND coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND (
  @node_filter
) AND @answers
WITH n, p ORDER BY p.rank
WITH n, head(collect(p)) AS p ORDER BY p.rank LIMIT $heat_k
RETURN collect({id: elementId(n), degree: COUNT { (n)--() }, type: p.type, probability: p.probability}) AS linked
