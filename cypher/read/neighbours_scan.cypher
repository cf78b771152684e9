// The nodes nearest to one node, by looking at every node. Parameters: heat_model, heat_node (element id), heat_k,
// heat_show (property keys), and those of the filter.
MATCH (model:HeatModel {name: $heat_model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $heat_model, number: version})
MATCH (a) WHERE elementId(a) = $heat_node AND a[m.runProperty] = m.run
WITH m, a, 2.0 + exp(a[m.radiusProperty]) + exp(-a[m.radiusProperty]) AS c,
     CASE m.coordinates WHEN 'poincare' THEN m.embeddingProperty ELSE m.vectorProperty END AS property,
     CASE m.coordinates WHEN 'poincare' THEN 1.0 ELSE m.vectorScale END AS scale
WITH m, a, c, property, scale, a[property] AS u
MATCH (n)
WHERE n[m.runProperty] = m.run AND n <> a AND (
  @node_filter
)
WITH n, c, scale, u, n[m.radiusProperty] AS r, n[property] AS v
WITH n, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 / scale ^ 2 *
     reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
RETURN elementId(n) AS id, labels(n) AS labels, [key IN $heat_show | n[key]] AS shown,
       log(1.0 + z + sqrt(z * (z + 2.0))) AS distance, r AS radius, true AS certified
ORDER BY distance, id
LIMIT $heat_k
