// The most specific nodes: those farthest from the centre, the leaves of the hierarchy.
//
// Looks at all nodes once.
//
// Put the property to show in the place of `name`; a node without it is shown by its element id.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param k => 10                    how many
MATCH (n) WHERE n.`heatEmbedding` IS NOT NULL
RETURN coalesce(n.`name`, elementId(n)) AS node, n.`heatRadius` AS radius
ORDER BY radius DESC, node
LIMIT $k
