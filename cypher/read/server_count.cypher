// Number of servers of the cluster: each has a copy of the system database, which every user sees.
SHOW DATABASES YIELD name WHERE name = 'system'
RETURN count(*) AS servers
