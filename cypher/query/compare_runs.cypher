// Two runs of a model side by side.
//
// By default it compares the published run with the one published before it. Values are text.
//
// :param model => "heat"            name of the published embedding
// :param run => null                id of a run; null is the published one
// :param other => null              id of the other run; null is the last complete or superseded one before it
MATCH (model:HeatModel {name: $model})
// Once its number is read, the version does not change.
WITH model.version AS version
OPTIONAL MATCH (m:HeatVersion {model: $model, number: version})
MATCH (a:HeatRun {model: $model}) WHERE a.runId = coalesce($run, m.run)
OPTIONAL MATCH (b:HeatRun {model: $model})
WHERE b.runId = $other
   OR ($other IS NULL AND b.startedAt < a.startedAt AND b.status IN ['complete', 'superseded']
       AND 'embedding' IN b.parts)
WITH a, b
ORDER BY b.startedAt DESC, b.runId
LIMIT 1
UNWIND ['run', 'status', 'started', 'seconds', 'nodes', 'edges', 'attributes', 'dimension', 'final loss',
        'seed', 'links'] AS fact
WITH fact, [h IN [a, b] | CASE fact
  WHEN 'run' THEN h.runId
  WHEN 'status' THEN h.status
  WHEN 'started' THEN toString(h.startedAt)
  WHEN 'nodes' THEN toString(h.nodeCount)
  WHEN 'edges' THEN toString(h.edgeCount)
  WHEN 'attributes' THEN toString(h.attributeCount)
  WHEN 'dimension' THEN toString(h.dimension)
  WHEN 'final loss' THEN toString(h.finalLoss)
  WHEN 'seed' THEN toString(h.seed)
  WHEN 'links' THEN toString(h.linksWritten)
  // The seconds of all stages, kept as JSON: {"train": 1.5, "links": 0.25}
  ELSE toString(round(reduce(sum = 0.0, part IN split(h.stageSeconds, ',') |
         sum + coalesce(toFloat(replace(split(part, ':')[1], '}', '')), 0.0)), 3))
END] AS values
RETURN fact, values[0] AS run, values[1] AS other
