// Types of the relationships that runs of this package write as predicted links, and of their copies.
MATCH (run:HeatRun {createdBy: 'heat_neo4j'})
WHERE run.linkType IS NOT NULL
UNWIND [run.linkType, run.linkType + '_STAGED', run.linkType + '_PREVIOUS'] AS type
RETURN collect(DISTINCT type) AS types
