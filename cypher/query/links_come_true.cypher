// The likeliest predicted links, and whether each has become a relationship of its type.
//
// Links are predicted only between nodes that no relationship of the type joins, so it is newer than the prediction.
// Other types and the reverse direction do not count. Precision: the share of links up to this rank that came true.
//
// Put the property to show in the place of `name`; a node without it is shown by its element id.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param kind => null               links of this type only
// :param k => 10                    how many
MATCH (a)-[p:`HEAT_PREDICTED`]->(b) WHERE $kind IS NULL OR p.type = $kind
WITH a, p, b
ORDER BY p.rank
LIMIT $k
WITH p.rank AS rank, coalesce(a.`name`, elementId(a)) AS node, p.type AS type,
     coalesce(b.`name`, elementId(b)) AS other, p.probability AS probability,
     EXISTS { (a)-[r]->(b) WHERE type(r) = p.type } AS cameTrue
ORDER BY rank
WITH collect({rank: rank, node: node, type: type, other: other, probability: probability, cameTrue: cameTrue}) AS links
UNWIND range(0, size(links) - 1) AS i
WITH links[i] AS link, size([l IN links[..i + 1] WHERE l.cameTrue]) AS hits, i + 1 AS shown
RETURN link.rank AS rank, link.node AS node, link.type AS type, link.other AS other,
       link.probability AS probability, link.cameTrue AS cameTrue, toFloat(hits) / shown AS precision
ORDER BY rank
