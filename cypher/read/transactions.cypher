// Ids of the other running transactions of this database. Between two queries currentQuery is an empty
// string in Cypher 5, and null in Cypher 25.
SHOW TRANSACTIONS YIELD transactionId, database, currentQuery
WHERE database = $database AND NOT coalesce(currentQuery, '') STARTS WITH 'SHOW TRANSACTIONS'
RETURN collect(transactionId) AS ids
