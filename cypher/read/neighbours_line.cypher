// The more general or more specific nodes of one node, as query/ancestors.cypher and query/descendants.cypher find and
// order them, with their predicted links. @candidates is line_index or line_scan. No rows if no node was found, or more than
// one, or it has no coordinates. Parameters: heat_model, heat_ids (the node's element id, or none), heat_k, heat_fetch (null
// for a scan), heat_show (property keys), heat_side (-1 for more general nodes, 1 for more specific ones), and those of
// find_node, node_links and the filter.
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
     CASE WHEN r = 0.0 THEN 1.0 ELSE 1.0 - 2.0 / (1.0 + exp(r)) END AS norm,
     CASE WHEN $heat_side < 0 THEN [m.upwardTypes, m.downwardTypes] ELSE [m.downwardTypes, m.upwardTypes] END AS types
CALL (m, a, u, c, radius, norm, types) {
  CALL (m, a, u, radius, norm, types) {
    CALL (m, a, u, radius, norm, types) {
      MATCH path = (a)-[*]->(n) WHERE all(step IN relationships(path) WHERE type(step) IN types[0])
      RETURN n, min(length(path)) AS steps
      UNION ALL
      MATCH path = (a)<-[*]-(n) WHERE all(step IN relationships(path) WHERE type(step) IN types[1])
      RETURN n, min(length(path)) AS steps
      UNION ALL
      @candidates
    }
    RETURN n, min(steps) AS steps
  }
  WITH m, a, u, c, radius, n, steps
  WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND n <> a
    AND 0.0 < $heat_side * (coalesce(n[m.stagedRadius], n[m.radiusProperty]) - radius) AND (
    @node_filter
  )
  WITH n, steps, c, u, coalesce(n[m.stagedRadius], n[m.radiusProperty]) AS r,
       coalesce(n[m.stagedVector], n[m.vectorProperty]) AS v
  WITH n, steps, r, c * (2.0 + exp(r) + exp(-r)) / 8.0 *
       reduce(sum = 0.0, i IN range(0, size(u) - 1) | sum + (u[i] - v[i]) ^ 2) AS z
  WITH n, steps, r, log(1.0 + z + sqrt(z * (z + 2.0))) AS distance
  ORDER BY steps, distance - CASE WHEN $heat_side = 1 THEN r ELSE 0.0 END, elementId(n) LIMIT $heat_k
  CALL (n) {
    @links
  }
  WITH n, steps, r, distance, links
  ORDER BY steps, distance - CASE WHEN $heat_side = 1 THEN r ELSE 0.0 END, elementId(n)
  RETURN collect({id: elementId(n), labels: labels(n), shown: [key IN $heat_show | n[key]], distance: distance, radius: r,
                  steps: steps, links: links}) AS nodes
}
RETURN m.token AS version, elementId(a) AS id, $heat_fetch IS NULL AS certified, nodes
