// Who would link to one node most likely, by the rank among the links of a pattern.
//
// Of the links that are written; heat recommend looks at all that are possible. A node that has no value of the
// property is shown by its element id.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param value => "asyncio"         required: the value of the node
// :param kind => null               links of this type only
// :param k => 10                    how many
MATCH (a:`Module` {`name`: $value})
MATCH (a)<-[p:`HEAT_PREDICTED`]-(b) WHERE $kind IS NULL OR p.type = $kind
RETURN coalesce(b.`name`, elementId(b)) AS node, p.type AS type, p.patternRank AS rank,
       p.probability AS probability, p.distance AS distance
ORDER BY rank, p.rank
LIMIT $k
