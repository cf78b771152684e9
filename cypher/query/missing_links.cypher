// The likeliest missing relationships, with what both ends already share: neighbours and attributes.
//
// The rarest shared neighbours come first, as a shared hub says little. Values of a list count one by one.
// At most three of each are shown. A link leads from the node to the other; the two may be joined by another type.
//
// Put the property to show in the place of `name`; a node without it is shown by its element id.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param attributes => []           the properties to compare, such as ["words"]
// :param k => 10                    how many
WITH COLLECT { MATCH (h:HeatRun) WHERE h.linkType IS NOT NULL
  UNWIND [h.linkType, h.linkType + '_STAGED', h.linkType + '_PREVIOUS'] AS type RETURN DISTINCT type } AS predicted
MATCH (a)-[p:`HEAT_PREDICTED`]->(b)
WITH predicted, a, p, b
ORDER BY p.rank
LIMIT $k
WITH a, p, b, COLLECT {
  MATCH (a)-[r]-(c)-[s]-(b) WHERE NOT type(r) IN predicted AND NOT type(s) IN predicted AND c <> a AND c <> b
  WITH DISTINCT predicted, c
  WITH c, COUNT { (c)-[t]-() WHERE NOT type(t) IN predicted } AS degree
  ORDER BY degree, c.`name`
  RETURN coalesce(c.`name`, elementId(c))
} AS common, COLLECT {
  UNWIND $attributes AS key
  WITH key, a[key] AS x, b[key] AS y
  WITH key, x, y, x IS :: LIST<ANY> NOT NULL AND y IS :: LIST<ANY> NOT NULL AS lists
  WITH key, lists, CASE WHEN lists THEN COLLECT {
    UNWIND x AS entry
    WITH DISTINCT entry WHERE entry IN y
    ORDER BY entry
    RETURN toString(entry)
  } WHEN x = y THEN [toString(x)] ELSE [] END AS entries
  WHERE size(entries) > 0
  RETURN key + CASE WHEN lists THEN ': ' ELSE '=' END + entries[0]
         + reduce(text = '', entry IN entries[1..3] | text + ', ' + entry)
         + CASE WHEN size(entries) > 3 THEN ', ...' ELSE '' END
} AS shared
RETURN p.rank AS rank, coalesce(a.`name`, elementId(a)) AS node, p.type AS type,
       coalesce(b.`name`, elementId(b)) AS other, p.probability AS probability,
       p.distance AS distance, size(common) AS common, common[..3] AS through, shared
ORDER BY rank
