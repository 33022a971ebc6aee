// biome-ignore-all lint/style/noProcessEnv: libraries read it, whatever their configuration says

// pg takes what a URL leaves open from the environment, such as a search_path from PGOPTIONS. Only
// DATABASE_URL may decide. A PGSSLMODE stays, for readConfig to refuse. With DEBUG, ioredis and knex print
// passwords and rows. Import this before them, since they look when they load.
for (const name of Object.keys(process.env))
  if (/^(?:DEBUG|NODE_PG_FORCE_NATIVE|PG(?!SSLMODE$)[A-Z].*)$/.test(name)) delete process.env[name]
