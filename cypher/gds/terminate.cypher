// Stop the transactions that an interrupted client left running. Parameter: doing (as in its metadata).
SHOW TRANSACTIONS YIELD transactionId, metaData WHERE metaData.doing = $doing
TERMINATE TRANSACTIONS transactionId YIELD message
RETURN message
