// What the user has been granted, and what denied. Enterprise and Aura only: Community has no roles, and refuses this.
SHOW USER PRIVILEGES YIELD access, action, graph, segment
RETURN DISTINCT access, action, graph, segment
