// The relationships that one node most likely lacks.
//
// Put your label and property in the place of `Module` and `name`: an index of yours on them is used.
// Put the type of your predicted links in the place of `HEAT_PREDICTED`, if it is another.
// :param model => "heat"            name of the published embedding
// :param value => "asyncio"         required: the value of the node
// :param k => 10                    how many
MATCH (model:HeatModel {name: $model})
// Once read, its number stands for a version that never changes.
WITH model.version AS version
MATCH (m:HeatVersion {model: $model, number: version})
MATCH (a:`Module` {`name`: $value})
MATCH (a)-[p:`HEAT_PREDICTED`]-(b) WHERE p.run = m.linkRun
RETURN b.`name` AS node, p.probability AS probability, p.distance AS distance, p.rank AS rank
ORDER BY rank
LIMIT $k
