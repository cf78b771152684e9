// The nodes nearest to one node, by looking at every node. Parameters: heat_model, heat_node (element id), heat_k,
// heat_show (property keys), heat_side (-1 for those nearer to the centre than the node, 1 for those farther from it, 0 for
// all), and those of the filter.
MATCH (model:HeatModel {name: $heat_model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $heat_model, number: version})
MATCH (a) WHERE elementId(a) = $heat_node AND coalesce(a[m.stagedRun], a[m.runProperty]) = m.space
WITH m, a, coalesce(a[m.stagedVector], a[m.vectorProperty]) AS u, coalesce(a[m.stagedRadius], a[m.radiusProperty]) AS r
WITH m, a, u, 2.0 + exp(r) + exp(-r) AS c
MATCH (n)
WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND n <> a AND ($heat_side = 0 OR 0.0 < $heat_side *
  (coalesce(n[m.stagedRadius], n[m.radiusProperty]) - coalesce(a[m.stagedRadius], a[m.radiusProperty]))) AND (
  @node_filter
)
WITH n, c, u, coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS r,
     coalesce(n[m.stagedVector], n[m.vectorProperty]) AS v
WITH n, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
RETURN elementId(n) AS id, labels(n) AS labels, [key IN $heat_show | n[key]] AS shown,
       log(1.0 + z + sqrt(z * (z + 2.0))) AS distance, r AS radius, true AS certified
ORDER BY distance, id
LIMIT $heat_k
