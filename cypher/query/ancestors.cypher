// What is above a node: first the ancestors that the hierarchy's relationships reach, then likely ones.
//
// Likely ones are the nearest more general nodes. Steps: the relationships on the way; null if an ancestor is only likely. Train the embedding for a hierarchy
// (HEAT's parameter hierarchy): the radius of others reflects mostly how many relationships a node has. See docs/how-to/hierarchy.md.
//
// The vector index is searched around eight points of the line from the node to the centre. Without an index, all nodes are looked at.
//
// d(u, v) = arcosh(1 + z) = log(1 + z + sqrt(z (z + 2))), z = 2 |u - v|^2 / ((1 - |u|^2) (1 - |v|^2)), where
// 4 / (1 - |u|^2) = 2 + exp(r) + exp(-r) for a node of radius r
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// :param model => "heat"            name of the published embedding
// :param value => "asyncio"         required: the value of the node
// :param k => 10                    how many
// :param fetch => 50                candidates of each index search; at least k
CYPHER 5
MATCH (model:HeatModel {name: $model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (a:`Module` {`name`: $value}) WHERE coalesce(a[m.stagedRun], a[m.runProperty]) = m.space
WITH m, a, coalesce(a[m.stagedVector], a[m.vectorProperty]) AS u, coalesce(a[m.stagedRadius], a[m.radiusProperty]) AS r
WITH m, a, u, r, 2.0 + exp(r) + exp(-r) AS c WHERE r > 0.0
CALL (m, a, u, r) {
  CALL (m, a, u, r) {
    MATCH path = (a)-[*]->(b) WHERE all(step IN relationships(path) WHERE type(step) IN m.upwardTypes)
    RETURN b, min(length(path)) AS steps
    UNION ALL
    MATCH path = (a)<-[*]-(b) WHERE all(step IN relationships(path) WHERE type(step) IN m.downwardTypes)
    RETURN b, min(length(path)) AS steps
    UNION ALL
    UNWIND range(1, 8) AS point
    WITH m, [x IN u | x * (1.0 - 2.0 / (1.0 + exp(r * point / 8.0))) / (1.0 - 2.0 / (1.0 + exp(r)))] AS point
    UNWIND m.indexes AS index
    CALL db.index.vector.queryNodes(index, $fetch, point) YIELD node AS b
    RETURN b, null AS steps
    UNION ALL
    UNWIND m.core AS id
    MATCH (b) WHERE elementId(b) = id
    RETURN b, null AS steps
    UNION ALL
    UNWIND CASE WHEN size(coalesce(m.indexes, [])) = 0 THEN [m.space] ELSE [] END AS space
    MATCH (b) WHERE coalesce(b[m.stagedRun], b[m.runProperty]) = space
    RETURN b, null AS steps
  }
  RETURN b, min(steps) AS steps
}
WITH m, a, u, r, c, b, steps, coalesce(b[m.stagedRadius], b[m.radiusProperty]) AS radius,
     coalesce(b[m.stagedVector], b[m.vectorProperty]) AS v
WHERE b <> a AND coalesce(b[m.stagedRun], b[m.runProperty]) = m.space AND radius < r
WITH b, steps, radius, c * (2.0 + exp(radius) + exp(-radius)) / 8.0 *
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
RETURN b.`name` AS node, steps, radius, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance
ORDER BY steps, distance, node
LIMIT $k
