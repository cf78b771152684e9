// The members of one cluster, as written by heat clusters --write.
//
// Looks at all nodes once.
//
// Put the property to show in the place of `name`.
// :param model => "heat"            name of the model
// :param cluster => 1               required: the number of the cluster on its level
// :param level => 1                 from 1, the coarsest
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model + '-cluster'})
// Once its number is read, the version does not change.
WITH model.name AS model, model.version AS version
MATCH (m:HeatVersion {model: model, number: version})
MATCH (n) WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space
WITH n, CASE WHEN n[m.stagedRun] IS NULL THEN m.valueProperties ELSE m.stagedValues END AS names
WITH n, n[names[2 * $level - 2]] AS cluster, n[names[2 * $level - 1]] AS clusterName
WHERE cluster = $cluster
RETURN n.`name` AS node, cluster, clusterName
ORDER BY node
LIMIT $k
