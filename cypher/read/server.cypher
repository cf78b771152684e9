// Version and edition of the server that answers. The database in use comes with the result's summary.
CALL dbms.components() YIELD name, versions, edition
WITH versions[0] AS version, edition, name
WHERE name = 'Neo4j Kernel'
RETURN version, edition
