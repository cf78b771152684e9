// Properties of the given nodes, as one record of lists: positions in heat_ids of the nodes that still exist,
// and for each key the values of these nodes, null where there is none. Parameters: heat_ids, heat_keys.
UNWIND range(0, size($heat_ids) - 1) AS i
MATCH (n) WHERE elementId(n) = $heat_ids[i]
// collect() drops nulls, a list comprehension over collected nodes keeps them.
WITH collect(i) AS positions, collect(n) AS nodes
RETURN positions, [key IN $heat_keys | [n IN nodes | n[key]]] AS columns
