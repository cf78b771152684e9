// The likeliest missing relationships, with the neighbours that both ends already share.
//
// Shared neighbours are shown rarest first: to have a hub in common says little.
//
// :param model => "heat"            name of the published embedding
// :param property => "name"         the property to show
// :param k => 10                    how many
MATCH (m:HeatModel {name: $model})
MATCH (a)-[p]->(b) WHERE type(p) = m.linkType AND p.run = m.linkRun
WITH m, a, p, b
ORDER BY p.rank
LIMIT $k
WITH a, p, b, COLLECT {
  MATCH (a)-[r]-(c)-[s]-(b) WHERE type(r) <> m.linkType AND type(s) <> m.linkType
  WITH DISTINCT m, c
  WITH c, COUNT { (c)-[t]-() WHERE type(t) <> m.linkType } AS degree
  ORDER BY degree, c[$property]
  RETURN c[$property]
} AS shared
RETURN p.rank AS rank, a[$property] AS node, b[$property] AS other, p.probability AS probability,
       p.distance AS distance, size(shared) AS common, shared[..3] AS through
ORDER BY rank
