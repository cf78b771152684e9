// On how many servers the whole system runs: each has a copy of the system database, which everybody sees.
SHOW DATABASES YIELD name WHERE name = 'system'
RETURN count(*) AS servers
