// How many nodes of each label have published coordinates, and which nodes have none.
//
// A node has none if it is newer than the run, or if a filter left it out. The labels of the projection are
// counted, or all labels if it has none; a node without a label counts under ''. Looks at all nodes once.
//
// Put the property to show in the place of `name`.
// :param model => "heat"            name of the published embedding
// :param k => 10                    how many nodes without coordinates to show for each label
MATCH (model:HeatModel {name: $model})
// Once its number is read, the version does not change.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (h:HeatRun {runId: m.run})
MATCH (n) WHERE NOT n:HeatModel AND NOT n:HeatVersion AND NOT n:HeatRun
UNWIND CASE WHEN size(labels(n)) = 0 THEN [''] ELSE labels(n) END AS label
WITH label, n.`name` AS name, coalesce(coalesce(n[m.stagedRun], n[m.runProperty]) = m.space, false) AS embedded
WHERE size(h.labels) = 0 OR label IN h.labels
ORDER BY name
RETURN label, count(*) AS nodes, count(CASE WHEN embedded THEN 1 END) AS embedded,
       count(CASE WHEN NOT embedded THEN 1 END) AS without,
       collect(CASE WHEN NOT embedded THEN name END)[..$k] AS sample
ORDER BY label
