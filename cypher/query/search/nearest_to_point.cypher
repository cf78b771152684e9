// The nodes nearest to the midpoint of several nodes, by SEARCH.
//
// For servers that have SEARCH, where the name of an index cannot be a parameter.
// How it works is told in query/nearest_to_point.cypher.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put your model's index, which the query published shows, in the place of `heat_Module`.
// Put your model's properties in the place of `heatEmbedding` and `heatRadius`, if they are others.
// :param model => "heat"            name of the published embedding
// :param values => ["asyncio", "socket"]   required: names of the nodes
// :param k => 10                    how many
// :param fetch => 60                candidates of the first search; at least 2 k
CYPHER 25
MATCH (model:HeatModel {name: $model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (a:`Module`) WHERE a.`name` IN $values AND a.`heatEmbedding` IS NOT NULL
WITH m, a, (2.0 + exp(a.`heatRadius`) + exp(-a.`heatRadius`)) / 2.0 AS half
WITH m, collect(a) AS members, collect([x IN a.`heatEmbedding` | x * half]) AS points,
     sum(half - 1.0) AS time
WITH m, members, time, [i IN range(0, size(points[0]) - 1) | reduce(sum = 0.0, x IN points | sum + x[i])] AS space
WITH m, members, time, space, sqrt(time ^ 2 - reduce(sum = 0.0, x IN space | sum + x * x)) AS norm
WITH m, members, [x IN space | x / (norm + time)] AS u, 2.0 * (1.0 + time / norm) AS c
CALL (m, members, u, c) {
  CALL (m, u) {
    MATCH (b) SEARCH b IN (VECTOR INDEX `heat_Module` FOR u LIMIT $fetch)
    RETURN b
    UNION
    UNWIND m.core AS id
    MATCH (b) WHERE elementId(b) = id AND b.`heatEmbedding` IS NOT NULL
    RETURN b
  }
  WITH m, members, u, c, b WHERE NOT b IN members
  WITH m, u, c, b, b.`heatRadius` AS r, b.`heatEmbedding` AS v
  WITH b, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
       reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
  ORDER BY z LIMIT $k
  RETURN collect(b) AS near, coalesce(max(z), 0.0) AS reach
}
// The ball of hyperbolic radius arcosh(1 + reach) about u, as a Euclidean ball; a little wider for single precision.
WITH m, members, u, c, near, [x IN u | x * c / (c + 2.0 * reach)] AS centre,
     2.0 * sqrt(reach * (reach + 2.0)) / (c + 2.0 * reach) * 1.0001 + 2e-7 AS radius
CALL (m, near, centre, radius) {
  MATCH (b) SEARCH b IN (VECTOR INDEX `heat_Module` FOR centre LIMIT 8 * $fetch) SCORE AS score
  WITH near, radius, collect(b) AS nodes, collect(score) AS scores, min(score) AS last
  WITH near, nodes, scores, last, 1.0 / (1.0 + radius ^ 2) AS border
  RETURN collect([i IN range(0, size(nodes) - 1) WHERE size(near) < $k OR scores[i] >= border | nodes[i]]) AS inside,
         all(cut IN collect(size(nodes) = 8 * $fetch AND (size(near) < $k OR last >= border)) WHERE NOT cut) AS certified
}
UNWIND inside + [near] AS nodes
UNWIND nodes AS b
WITH DISTINCT m, members, u, c, certified, b WHERE NOT b IN members
WITH m, u, c, certified, b, b.`heatRadius` AS r, b.`heatEmbedding` AS v
WITH b, certified AND m.publishing IS NULL AS certified, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
RETURN b.`name` AS node, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance, r AS radius, certified
ORDER BY distance, node
LIMIT $k
