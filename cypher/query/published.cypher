// What is published: every model with the runs that wrote its coordinates and its predicted links.
MATCH (m:HeatModel)
OPTIONAL MATCH (r:HeatRun {runId: m.run})
OPTIONAL MATCH (l:HeatRun {runId: m.linkRun})
RETURN m.name AS model, m.run AS run, r.finishedAt AS finished, m.dimension AS dimension,
       m.coordinates AS coordinates, m.embeddingProperty AS embeddingProperty, m.indexes AS indexes,
       r.finalLoss AS finalLoss, m.linkType AS linkType, l.finishedAt AS linksFinished
ORDER BY model
