// The predicted values of a property, the surest first, as written by heat classify --write.
//
// Looks at all nodes once. A class has a probability, a number an interval.
//
// Put the property to show in the place of `name`.
// :param model => "heat"            name of the model
// :param missing => "topic"         required: the property that was predicted
// :param above => 0.0               minimum probability
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model + '-class-' + $missing})
// Once its number is read, the version does not change.
WITH model.name AS model, model.version AS version
MATCH (m:HeatVersion {model: model, number: version})
MATCH (n) WHERE coalesce(n[m.stagedRun], n[m.runProperty]) = m.space AND n[$missing] IS NULL
WITH n, CASE WHEN n[m.stagedRun] IS NULL THEN m.valueProperties ELSE m.stagedValues END AS names
WITH n, n[names[0]] AS predicted, n[names[1]] AS second, CASE size(names) WHEN 3 THEN n[names[2]] END AS high
WITH n, predicted, high,
     CASE WHEN high IS NULL THEN second END AS probability,
     CASE WHEN high IS NOT NULL THEN second END AS low
WHERE probability >= $above OR high IS NOT NULL
RETURN n.`name` AS node, predicted, probability, low, high
ORDER BY probability DESC, high - low, node
LIMIT $k
