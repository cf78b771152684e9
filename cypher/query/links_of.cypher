// The relationships that one node most likely lacks.
//
// :param model => "heat"            name of the published embedding
// :param label => "Module"          the node: its label,
// :param property => "name"         a property of it,
// :param value => "asyncio"         and that property's value
// :param k => 10                    how many
MATCH (m:HeatModel {name: $model})
// All of it at once: meanwhile the node may be turned to another version.
WITH properties(m) AS m
MATCH (a:$($label)) WHERE a[$property] = $value
MATCH (a)-[p]-(b) WHERE type(p) = m.linkType AND p.run = m.linkRun
RETURN b[$property] AS node, p.probability AS probability, p.distance AS distance, p.rank AS rank
ORDER BY rank
LIMIT $k
