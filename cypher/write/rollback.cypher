// Let the (locked) model point to the version before, if it still points to that which the user saw: one row if so.
// Parameters: model, run and link_run (that it must point to, or null), published and kept (on the model).
MATCH (m:HeatModel {name: $model, createdBy: 'heat_neo4j'})
WHERE coalesce(m.run, '') = coalesce($run, '') AND coalesce(m.linkRun, '') = coalesce($link_run, '')
SET m += $published, m += $kept, m.publishedAt = datetime(), m.rolledBackAt = datetime()
RETURN m.name AS model
