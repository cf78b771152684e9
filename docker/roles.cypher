// The role of the user who runs `heat refresh`, `heat serve` or `heat embed`, and no right that they do not need.
// For Neo4j Enterprise and Aura; Community has no roles, every user may do everything there.
//
// In cypher-shell, as an administrator, so that the password stands in no file and no command line:
//   cypher-shell --database system
//   :param {password: 'of at least 8 characters'}
//   :source docker/roles.cypher
//
// Names are those of the model `heat` in the database `neo4j`; another model has names of its own
// (docs/data-model.md). No test runs this on Enterprise: that the statements are Cypher, and that every label, relationship type,
// property and procedure of heat's own statements is named here, is tested.

CREATE ROLE heat IF NOT EXISTS;
CREATE USER heat IF NOT EXISTS SET PASSWORD $password CHANGE NOT REQUIRED;
GRANT ROLE heat TO heat;

// Reading. It may be narrowed to the labels and types of the projection and the names below; what the user may not see
// is not embedded, and heat cannot see whether a property that it writes to is taken there.
GRANT ACCESS ON DATABASE neo4j TO heat;
GRANT MATCH {*} ON GRAPH neo4j TO heat;

// Its own nodes: the address of what is published, and the records of runs.
GRANT CREATE ON GRAPH neo4j NODES HeatModel, HeatVersion, HeatRun TO heat;
GRANT DELETE ON GRAPH neo4j NODES HeatModel, HeatVersion, HeatRun TO heat;
GRANT SET PROPERTY {*} ON GRAPH neo4j NODES HeatModel, HeatVersion, HeatRun TO heat;

// Its own relationships. No other may be made, changed or deleted.
GRANT CREATE ON GRAPH neo4j RELATIONSHIPS
  HEAT_PREDICTED, HEAT_PREDICTED_STAGED, HEAT_PREDICTED_PREVIOUS, HEAT_PUBLISHED, HEAT_PREVIOUS, HEAT_WRITE_LOCK TO heat;
GRANT DELETE ON GRAPH neo4j RELATIONSHIPS
  HEAT_PREDICTED, HEAT_PREDICTED_STAGED, HEAT_PREDICTED_PREVIOUS, HEAT_PUBLISHED, HEAT_PREVIOUS, HEAT_WRITE_LOCK TO heat;
GRANT SET PROPERTY {*} ON GRAPH neo4j RELATIONSHIPS
  HEAT_PREDICTED, HEAT_PREDICTED_STAGED, HEAT_PREDICTED_PREVIOUS, HEAT_PUBLISHED, HEAT_PREVIOUS, HEAT_WRITE_LOCK TO heat;

// On your nodes these properties and nothing else: what is published, what is being published, and what it replaced.
GRANT SET PROPERTY {
  heatEmbedding, heatRadius, heatRun, heatVector,
  heatEmbeddingStaged, heatRadiusStaged, heatRunStaged, heatVectorStaged,
  heatEmbeddingPrevious, heatRadiusPrevious, heatRunPrevious, heatVectorPrevious
} ON GRAPH neo4j NODES * TO heat;

// The names above are new in the database when a model is first written, and the vector index is made by every run.
GRANT NAME MANAGEMENT ON DATABASE neo4j TO heat;
GRANT INDEX MANAGEMENT ON DATABASE neo4j TO heat;

// Everybody may call these, unless an administrator has taken that from the role PUBLIC.
GRANT EXECUTE PROCEDURE dbms.components, db.labels, db.relationshipTypes, db.propertyKeys, db.index.vector.queryNodes,
  db.index.fulltext.queryNodes
  ON DBMS TO heat;
