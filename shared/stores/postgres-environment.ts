// biome-ignore-all lint/style/noProcessEnv: pg reads it, whatever its configuration says

// pg takes what a URL leaves open from the environment, such as a search_path from PGOPTIONS. Only
// DATABASE_URL may decide. Import this before pg, which looks for its native client when it loads.
// A PGSSLMODE stays, for readConfig to refuse.
for (const name of Object.keys(process.env))
  if (name === 'NODE_PG_FORCE_NATIVE' || (/^PG[A-Z]/.test(name) && name !== 'PGSSLMODE'))
    delete process.env[name]
