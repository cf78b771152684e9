// The nodes with the smallest detour between two nodes, as in query/between.cypher, by looking at every node of some
// labels. No rows if one of the two has no coordinates. Parameters: model, node and other (element ids), k, show
// (property keys).
MATCH (model:HeatModel {name: $model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (a) WHERE elementId(a) = $node AND coalesce(a[m.stagedRun], a[m.runProperty]) = m.space
MATCH (b) WHERE elementId(b) = $other AND coalesce(b[m.stagedRun], b[m.runProperty]) = m.space
WITH m, a, b, coalesce(a[m.stagedVector], a[m.vectorProperty]) AS u, coalesce(a[m.stagedRadius], a[m.radiusProperty]) AS r,
     coalesce(b[m.stagedVector], b[m.vectorProperty]) AS v, coalesce(b[m.stagedRadius], b[m.radiusProperty]) AS s
WITH m, a, b, u, v, 2.0 + exp(r) + exp(-r) AS c, 2.0 + exp(s) + exp(-s) AS d
WITH m, a, b, u, v, c, d, c * d / 8.0 * reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
WITH m, a, b, u, v, c, d, log(1.0 + z + sqrt(z * (z + 2.0))) AS direct
CALL (m, a, b, u, v, c, d, direct) {
  MATCH (n:@labels)
  WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND n <> a AND n <> b
  WITH n, u, v, c, d, direct, coalesce(n[m.stagedVector], n[m.vectorProperty]) AS w,
       coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS radius
  WITH n, u, v, w, c, d, direct, radius, 2.0 + exp(radius) + exp(-radius) AS e
  WITH n, direct, radius,
       c * e / 8.0 * reduce(sum = 0.0, i IN range(0, size(w) - 1) | sum + (u[i] - w[i]) ^ 2) AS y,
       d * e / 8.0 * reduce(sum = 0.0, i IN range(0, size(w) - 1) | sum + (v[i] - w[i]) ^ 2) AS z
  WITH n, direct, radius, log(1.0 + y + sqrt(y * (y + 2.0))) AS distance,
       log(1.0 + z + sqrt(z * (z + 2.0))) AS otherDistance
  WITH n, radius, distance, otherDistance, distance + otherDistance - direct AS detour
  ORDER BY detour, elementId(n) LIMIT $k
  RETURN collect({id: elementId(n), labels: labels(n), shown: [key IN $show | n[key]], radius: radius, distance: distance,
                  otherDistance: otherDistance, detour: detour}) AS nodes
}
RETURN m.token AS version, direct, nodes
