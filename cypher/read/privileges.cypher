// Privileges that the user was granted or denied. Enterprise and Aura only; Community has no roles and refuses this.
SHOW USER PRIVILEGES YIELD access, action, graph, segment
RETURN DISTINCT access, action, graph, segment
