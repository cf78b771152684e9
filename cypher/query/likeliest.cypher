// The likeliest missing relationships of each type.
//
// A node that has no value of the property is shown by its element id. If relationships of a type join several
// kinds of nodes, each kind has rows.
//
// Put the property to show in the place of `name`.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param k => 10                    how many of each type
MATCH (a)-[p:`HEAT_PREDICTED`]->(b) WHERE p.patternRank <= $k
RETURN p.type AS type, p.patternRank AS rank, coalesce(a.`name`, elementId(a)) AS node,
       coalesce(b.`name`, elementId(b)) AS other, p.probability AS probability, p.distance AS distance
ORDER BY type, rank, p.rank
