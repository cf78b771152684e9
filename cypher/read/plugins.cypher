// Which of two plugins the server has, told by a function of each. Asks nothing of them, so it fails on no server.
SHOW FUNCTIONS YIELD name WHERE name IN ['gds.version', 'apoc.version']
RETURN collect(name) AS functions
