// The relationships that one node most likely lacks, of any type and in either direction.
//
// A node without the property is shown by its element id.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param value => "asyncio"         required: the value of the node
// :param k => 10                    how many
MATCH (a:`Module` {`name`: $value})
MATCH (a)-[p:`HEAT_PREDICTED`]-(b)
RETURN coalesce(b.`name`, elementId(b)) AS node, p.type AS type,
       CASE WHEN startNode(p) = a THEN 'out' ELSE 'in' END AS direction,
       p.probability AS probability, p.distance AS distance, p.rank AS rank
ORDER BY rank
LIMIT $k
