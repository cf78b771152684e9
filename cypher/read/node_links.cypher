// Part of other statements: the likeliest predicted links of a node n, in either direction, by rank.
// Parameters: heat_link_run, heat_n_links (how many), heat_keys (property keys of the other end).
MATCH (n)-[p:@type]-(b) WHERE p.run = $heat_link_run
WITH p, b, startNode(p) = n AS leaves ORDER BY p.rank LIMIT $heat_n_links
RETURN collect({type: p.type, leaves: leaves, probability: p.probability, distance: p.distance, rank: p.rank,
                id: elementId(b), labels: labels(b), shown: [key IN $heat_keys | b[key]]}) AS links
