// Types of the relationships that runs of this package have written as predicted links.
MATCH (run:HeatRun {createdBy: 'heat_neo4j'})
WHERE run.linkType IS NOT NULL
RETURN collect(DISTINCT run.linkType) AS types
