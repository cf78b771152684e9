// Pairs of nodes that are probably the same thing, as written by heat duplicates --write.
//
// Put the property to show in the place of `name`.
// Put the type of your duplicates in the place of `HEAT_SAME_AS`, if it is another.
// :param minProbability => 0.0      minimum probability
// :param k => 20                    how many
MATCH (a)-[p:`HEAT_SAME_AS`]->(b) WHERE p.probability >= $minProbability
RETURN p.rank AS rank, coalesce(a.`name`, elementId(a)) AS node, coalesce(b.`name`, elementId(b)) AS other,
       p.probability AS probability, p.distance AS distance, p.reason AS reason
ORDER BY rank
LIMIT $k
