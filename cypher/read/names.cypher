// Every label, relationship type and property key that the database knows; the types of predicted links that runs of
// this package publish; and the element id of any node, null if there is none.
CALL () { CALL db.labels() YIELD label RETURN collect(label) AS labels }
CALL () { CALL db.relationshipTypes() YIELD relationshipType RETURN collect(relationshipType) AS types }
CALL () { CALL db.propertyKeys() YIELD propertyKey RETURN collect(propertyKey) AS keys }
CALL () {
  MATCH (run:HeatRun {createdBy: 'heat_neo4j'})
  WHERE run.linkType IS NOT NULL
  RETURN collect(DISTINCT run.linkType) AS predicted
}
CALL () { OPTIONAL MATCH (n) RETURN elementId(n) AS id LIMIT 1 }
RETURN labels, types, keys, predicted, id
