// Why one node would link to another: what they share, their distance, and the predicted links between them.
//
// A row for each predicted link from the first node to the second; one row if there is none. The rarest shared
// neighbours come first, as a shared hub says little. d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))),
// z = 2 |u - v|^2 / (gapU gapV), gap = 1 - |u|^2 = 4 / (2 + exp(r) + exp(-r)), r the radius.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param value => "asyncio"         required: the value of the first node
// :param other => "threading"       required: the value of the second node
// :param attributes => []           the properties to compare, such as ["words"]
// :param k => 10                    how many shared neighbours to show
WITH COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL
  UNWIND [h.linkType, h.linkType + '_STAGED', h.linkType + '_PREVIOUS'] AS type RETURN DISTINCT type } AS predicted
MATCH (a:`Module` {`name`: $value}) WHERE a.`heatEmbedding` IS NOT NULL
MATCH (b:`Module` {`name`: $other}) WHERE b.`heatEmbedding` IS NOT NULL AND b <> a
WITH predicted, a, b, a.`heatEmbedding` AS u, b.`heatEmbedding` AS v,
     a.`heatRadius` AS radius, b.`heatRadius` AS otherRadius
WITH predicted, a, b, radius, otherRadius,
     2.0 * reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) * (u[i] - v[i])) *
     (2.0 + exp(radius) + exp(-radius)) * (2.0 + exp(otherRadius) + exp(-otherRadius)) / 16.0 AS z
WITH a, b, radius, otherRadius, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance, COLLECT {
  MATCH (a)-[r]-(b) WHERE NOT type(r) IN predicted
  WITH DISTINCT CASE WHEN startNode(r) = a THEN '-' + type(r) + '->' ELSE '<-' + type(r) + '-' END AS arrow
  ORDER BY arrow
  RETURN arrow
} AS joined, COLLECT {
  MATCH (a)-[r]-(c)-[s]-(b) WHERE NOT type(r) IN predicted AND NOT type(s) IN predicted AND c <> a AND c <> b
  WITH DISTINCT predicted, c,
       CASE WHEN startNode(r) = a THEN '-' + type(r) + '->' ELSE '<-' + type(r) + '-' END AS there,
       CASE WHEN endNode(s) = b THEN '-' + type(s) + '->' ELSE '<-' + type(s) + '-' END AS further
  WITH c, there, further, COUNT { (c)-[t]-() WHERE NOT type(t) IN predicted } AS degree
  ORDER BY degree, c.`name`, there, further
  RETURN there + ' ' + coalesce(toString(c.`name`), elementId(c)) + ' ' + further
} AS through, COLLECT {
  UNWIND $attributes AS key
  WITH key, a[key] AS x, b[key] AS y
  WITH key, x, y, x IS :: LIST<ANY> NOT NULL AND y IS :: LIST<ANY> NOT NULL AS lists
  WITH key, CASE WHEN lists THEN COLLECT {
    UNWIND x AS entry
    WITH DISTINCT entry WHERE entry IN y
    ORDER BY entry
    RETURN toString(entry)
  } WHEN x = y THEN [toString(x)] ELSE [] END AS entries
  UNWIND entries AS entry
  RETURN key + '=' + entry
} AS shared
OPTIONAL MATCH (a)-[p:`HEAT_PREDICTED`]->(b)
RETURN a.`name` AS node, p.type AS type, b.`name` AS other, p.probability AS probability, p.patternRank AS rank,
       distance, radius, otherRadius, joined, size(through) AS ways, through[..$k] AS through, shared
ORDER BY p.rank
