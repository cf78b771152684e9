// The most general nodes: those nearest to the centre, where everything meets.
//
// A node with few relationships lies where its attributes put it, so it is left out here. Looks at all nodes once.
//
// Put the property to show in the place of `name`.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param minDegree => 3             fewest relationships of a node (predicted ones do not count)
// :param k => 10                    how many
WITH COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL
  UNWIND [h.linkType, h.linkType + '_STAGED', h.linkType + '_PREVIOUS'] AS type RETURN DISTINCT type } AS predicted
MATCH (n) WHERE n.`heatEmbedding` IS NOT NULL
WITH n, n.`heatRadius` AS radius, COUNT { (n)-[r]-() WHERE NOT type(r) IN predicted } AS degree
WHERE degree >= $minDegree
RETURN n.`name` AS node, radius, degree
ORDER BY radius, node
LIMIT $k
