// Ids of the transactions under way in this database, other than this one.
SHOW TRANSACTIONS YIELD transactionId, database, currentQuery
WHERE database = $database AND NOT currentQuery STARTS WITH 'SHOW TRANSACTIONS'
RETURN collect(transactionId) AS ids
