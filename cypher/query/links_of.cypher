// The relationships that one node most likely lacks.
//
// :param model => "heat"            name of the published embedding
// :param label => "Module"          the node: its label,
// :param property => "name"         a property of it,
// :param value => "asyncio"         and that property's value
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (a:$($label)) WHERE a[$property] = $value
MATCH (a)-[p]-(b) WHERE type(p) = m.linkType AND p.run = m.linkRun
RETURN b[$property] AS node, p.probability AS probability, p.distance AS distance, p.rank AS rank
ORDER BY rank
LIMIT $k
