// The more general or more specific nodes on the way between one node and the centre, as query/ancestors.cypher and
// query/descendants.cypher find and order them by the vector index, with their predicted links. No rows if no node was found, or more than one, or it has no coordinates. Parameters: heat_model, heat_ids (the
// node's element id, or none), heat_k, heat_fetch, heat_show (property keys), heat_side (-1 for more general nodes, 1 for
// more specific ones), and those of find_node, node_links and the filter.
CYPHER 5
MATCH (model:HeatModel {name: $heat_model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $heat_model, number: version})
CALL () {
  UNWIND $heat_ids AS id
  RETURN id
  @or_by_key
}
WITH m, collect(id) AS ids WHERE size(ids) = 1
MATCH (a) WHERE elementId(a) = ids[0] AND coalesce(a[m.stagedRun], a[m.runProperty]) = m.space
WITH m, a, coalesce(a[m.stagedVector], a[m.vectorProperty]) AS u, coalesce(a[m.stagedRadius], a[m.radiusProperty]) AS r
WITH m, a, u, r AS radius, 2.0 + exp(r) + exp(-r) AS c,
     CASE WHEN r = 0.0 THEN 1.0 ELSE 1.0 - 2.0 / (1.0 + exp(r)) END AS norm
CALL (m, a, u, c, radius, norm) {
  CALL (m, u, radius, norm) {
    UNWIND range(0, 8) AS step
    WITH m, u, norm, CASE WHEN $heat_side < 0 THEN radius * step / 8.0 ELSE radius + step * 0.75 END AS along
    WITH m, [x IN u | x * (1.0 - 2.0 / (1.0 + exp(along))) / norm] AS point
    UNWIND m.indexes AS index
    CALL db.index.vector.queryNodes(index, $heat_fetch, point) YIELD node AS n
    RETURN n
    UNION
    UNWIND m.core AS id
    MATCH (n) WHERE elementId(n) = id
    RETURN n
  }
  WITH m, a, u, c, radius, n
  WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND n <> a
    AND 0.0 < $heat_side * (coalesce(n[m.stagedRadius], n[m.radiusProperty]) - radius) AND (
    @node_filter
  )
  WITH n, c, u, coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS r,
       coalesce(n[m.stagedVector], n[m.vectorProperty]) AS v
  WITH n, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
       reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
  WITH n, r, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance
  ORDER BY distance - CASE WHEN $heat_side = 1 THEN r ELSE 0.0 END, elementId(n) LIMIT $heat_k
  CALL (n) {
    @links
  }
  WITH n, r, distance, links ORDER BY distance - CASE WHEN $heat_side = 1 THEN r ELSE 0.0 END, elementId(n)
  RETURN collect({id: elementId(n), labels: labels(n), shown: [key IN $heat_show | n[key]], distance: distance, radius: r,
                  links: links}) AS nodes
}
RETURN m.token AS version, elementId(a) AS id, false AS certified, nodes
