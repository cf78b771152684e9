// The nodes that one node would most likely link to, by rank within a pattern.
//
// It reads the links that were written; heat recommend scores all possible ones. A node without the property is
// shown by its element id.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param value => "asyncio"         required: the value of the node
// :param kind => null               links of this type only
// :param k => 10                    how many
MATCH (a:`Module` {`name`: $value})
MATCH (a)-[p:`HEAT_PREDICTED`]->(b) WHERE $kind IS NULL OR p.type = $kind
RETURN coalesce(b.`name`, elementId(b)) AS node, p.type AS type, p.patternRank AS rank,
       p.probability AS probability, p.distance AS distance
ORDER BY rank, p.rank
LIMIT $k
