// What the nodes with the published coordinates of a model were read by: labels, and the projection as JSON; the run and the
// relationship type of its predicted links, null without any; how many vector indexes there are; the version that says so;
// and which labels its nodes have, by which it can be told that there are no others.
// Parameters: model.
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
WITH m.version AS number
MATCH (v:HeatVersion {model: $model, createdBy: 'heat_neo4j', number: number})
MATCH (r:HeatRun {runId: v.run, createdBy: 'heat_neo4j'})
RETURN r.labels AS labels, r.projection AS projection, v.linkRun AS linkRun,
       coalesce(v.stagedLinkType, v.linkType) AS linkType, coalesce(size(v.indexes), 0) AS indexes, v.token AS version,
       v {.run, .nodeLabels, .nodeCount} AS held
