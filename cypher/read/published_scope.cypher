// The scope of a model: the labels and the projection (JSON) of its published coordinates; the run and the relationship
// type of its predicted links, or null; the number of vector indexes; the version; and the labels of its nodes, which show
// whether there are others.
// Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
WITH m.version AS number
MATCH (v:HeatVersion {model: $model, createdBy: 'heat_neo4j', number: number})
MATCH (r:HeatRun {runId: v.run, createdBy: 'heat_neo4j'}) WHERE v.valueProperties IS NULL
RETURN r.labels AS labels, r.projection AS projection, v.linkRun AS linkRun,
       coalesce(v.stagedLinkType, v.linkType) AS linkType, coalesce(size(v.indexes), 0) AS indexes, v.token AS version,
       v {.run, .nodeLabels, .nodeCount} AS held
