// The most general nodes: those nearest to the centre.
//
// Nodes without relationships are left out: their attributes alone decide where they lie. Looks at all nodes once.
//
// Put the property to show in the place of `name`; a node without it is shown by its element id.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param minDegree => 1             minimum number of relationships, without predicted ones
// :param k => 10                    how many
WITH COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL
  UNWIND [h.linkType, h.linkType + '_STAGED', h.linkType + '_PREVIOUS'] AS type RETURN DISTINCT type } AS predicted
MATCH (n) WHERE n.`heatEmbedding` IS NOT NULL
WITH n, n.`heatRadius` AS radius, COUNT { (n)-[r]-() WHERE NOT type(r) IN predicted } AS degree
WHERE degree >= $minDegree
RETURN coalesce(n.`name`, elementId(n)) AS node, radius, degree
ORDER BY radius, node
LIMIT $k
