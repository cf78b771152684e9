// Which predicted links have come true since: their ends are joined by a relationship now.
//
// Links are predicted between nodes that nothing joins, so a relationship there is younger than the prediction.
// Precision: the share that came true of the links up to this rank.
//
// Put the property to show in the place of `name`.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param types => []                types of relationship that count; none named: all but predicted links
// :param k => 10                    how many
WITH COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL
  UNWIND [h.linkType, h.linkType + '_STAGED', h.linkType + '_PREVIOUS'] AS type RETURN DISTINCT type } AS predicted
MATCH (a)-[p:`HEAT_PREDICTED`]->(b)
WITH predicted, a, p, b
ORDER BY p.rank
LIMIT $k
WITH p.rank AS rank, a.`name` AS node, b.`name` AS other, p.probability AS probability,
     EXISTS {
       (a)-[r]-(b) WHERE NOT type(r) IN predicted AND (size($types) = 0 OR type(r) IN $types)
     } AS cameTrue
ORDER BY rank
WITH collect({rank: rank, node: node, other: other, probability: probability, cameTrue: cameTrue}) AS links
UNWIND range(0, size(links) - 1) AS i
WITH links[i] AS link, size([l IN links[..i + 1] WHERE l.cameTrue]) AS hits, i + 1 AS shown
RETURN link.rank AS rank, link.node AS node, link.other AS other, link.probability AS probability,
       link.cameTrue AS cameTrue, toFloat(hits) / shown AS precision
ORDER BY rank
