// The predicted values of a property, of the nodes that lack it, likeliest first: heat classify --write wrote them.
//
// Looks at all nodes once.
//
// Put the property to show in the place of `name`.
// :param model => "heat"            name of the model
// :param missing => "topic"         required: the property that was predicted
// :param above => 0.0               the probability to begin at
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model + '-class-' + $missing})
// Once its number is read, the version does not change.
WITH model.name AS model, model.version AS version
MATCH (m:HeatVersion {model: model, number: version})
MATCH (n) WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND n[$missing] IS NULL
WITH n, CASE WHEN n[m.stagedRun] IS NULL THEN m.valueProperties ELSE m.stagedValues END AS names
WITH n, n[names[0]] AS class, n[names[1]] AS probability
WHERE probability >= $above
RETURN n.`name` AS node, class, probability
ORDER BY probability DESC, node
LIMIT $k
