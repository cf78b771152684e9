// Every published model, with the runs that wrote its coordinates and its predicted links.
MATCH (model:HeatModel)
// Once its number is read, the version does not change.
WITH model.name AS model, model.version AS version
MATCH (m:HeatVersion {model: model, number: version})
OPTIONAL MATCH (r:HeatRun {runId: m.run})
OPTIONAL MATCH (l:HeatRun {runId: m.linkRun})
RETURN model, m.run AS run, r.finishedAt AS finished, m.dimension AS dimension,
       m.coordinates AS coordinates, m.embeddingProperty AS embeddingProperty, m.indexes AS indexes,
       r.finalLoss AS finalLoss, m.linkType AS linkType, l.finishedAt AS linksFinished
ORDER BY model
