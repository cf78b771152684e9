// Note that nothing is left of a part of a run's data. Once nothing is left at all the recipe of its attributes
// and the fingerprint of its graph go too: they can be large, and serve only coordinates that exist.
// Parameters: run, part.
MATCH (r:HeatRun {runId: $run, createdBy: 'heat_neo4j'})
SET r.stored = [part IN r.stored WHERE part <> $part]
SET r.attributeRecipe = CASE size(r.stored) WHEN 0 THEN null ELSE r.attributeRecipe END,
    r.fingerprint = CASE size(r.stored) WHEN 0 THEN null ELSE r.fingerprint END
