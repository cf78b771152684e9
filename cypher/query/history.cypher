// The runs of a model, latest first: what each did and why, how well it predicts, and how far nodes moved.
//
// auroc is measured on held-out edges; gained is its difference from the run before. overlap is the share of the 10
// nearest nodes that stayed the same, moved the mean hyperbolic distance by which nodes moved.
//
// :param model => "heat"            name of the published embedding
// :param k => 20                    how many runs
MATCH (model:HeatModel {name: $model})
// Once its number is read, the version does not change.
WITH model.version AS version
OPTIONAL MATCH (m:HeatVersion {model: $model, number: version})
MATCH (h:HeatRun {model: $model}) WHERE 'embedding' IN h.parts
OPTIONAL MATCH (h)-[:HEAT_PREVIOUS]->(before:HeatRun)
RETURN h.runId AS run, h.startedAt AS started, h.status AS status, h.runId = m.run AS published, h.decision AS decision,
       h.reason AS reason, h.nodeCount AS nodes, h.edgeCount AS edges, h.auroc AS auroc,
       h.auroc - before.auroc AS gained, h.overlap AS overlap, h.meanMove AS moved, h.error AS error
ORDER BY started DESC, run DESC
LIMIT $k
