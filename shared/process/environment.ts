// biome-ignore-all lint/style/noProcessEnv: libraries read it, whatever their configuration says

// Import this before pg, knex and ioredis, which look when they load. pg takes what DATABASE_URL leaves open.
// A PGSSLMODE stays, for readConfig to refuse. With DEBUG, knex and ioredis print rows and passwords.
for (const name of Object.keys(process.env))
  if (/^(?:DEBUG|NODE_PG_FORCE_NATIVE|PG(?!SSLMODE$)[A-Z].*)$/.test(name)) delete process.env[name]
