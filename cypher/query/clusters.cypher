// The clusters of one level, the largest first, with some members, as written by heat clusters --write.
//
// Looks at all nodes once.
//
// Put the property to show in the place of `name`.
// :param model => "heat"            name of the model
// :param level => 1                 from 1, the coarsest
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model + '-cluster'})
// Once its number is read, the version does not change.
WITH model.name AS model, model.version AS version
MATCH (m:HeatVersion {model: model, number: version})
MATCH (n) WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space
WITH n, CASE WHEN n[m.stagedRun] IS NULL THEN m.valueProperties ELSE m.stagedValues END AS names
WITH n[names[2 * $level - 2]] AS cluster, n[names[2 * $level - 1]] AS clusterName, n.`name` AS node
WHERE cluster IS NOT NULL
WITH cluster, clusterName, node ORDER BY node
RETURN cluster, clusterName, count(*) AS nodes, collect(node)[..5] AS sample
ORDER BY nodes DESC, cluster
LIMIT $k
