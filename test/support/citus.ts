import { connectedDatabase } from './stores.ts'

/* A Citus cluster in the place of the test server. Statements about databases run on each of its nodes. */

/** Returns the URLs of the nodes' database `postgres`, the coordinator's first. `url` is a superuser's. */
export async function listNodes(url: string): Promise<string[]> {
  await using db = connectedDatabase(url)
  const { rows } = await db.raw(
    `select nodename, nodeport from pg_dist_node where isactive and noderole = 'primary' order by groupid`,
  )
  return rows.map(({ nodename, nodeport }: { nodename: string; nodeport: number }) => {
    const node = new URL('/postgres', url)
    node.host = `${nodename}:${nodeport}`
    return node.href
  })
}

/** Joins the nodes in a new database, which exists on each of them. */
export async function joinNodes(nodeUrls: readonly string[], database: string): Promise<void> {
  const urls = nodeUrls.map((nodeUrl) => new URL(`/${database}`, nodeUrl))
  for (const { href } of urls) {
    await using db = connectedDatabase(href)
    await db.raw('create extension citus')
  }
  const [coordinator, ...workers] = urls as [URL, ...URL[]]
  await using db = connectedDatabase(coordinator.href)
  await db.raw('alter database ?? set citus.shard_count = 4', [database])
  await db.raw('select citus_set_coordinator_host(?, ?)', [coordinator.hostname, Number(coordinator.port)])
  for (const { hostname, port } of workers)
    await db.raw('select citus_add_node(?, ?)', [hostname, Number(port)])
}

/** Ends all connections to a database, those of Citus too, so that it can be copied. */
export async function forbidConnections(nodeUrls: readonly string[], database: string): Promise<void> {
  for (const nodeUrl of nodeUrls) {
    await using db = connectedDatabase(nodeUrl)
    await db.raw('alter database ?? allow_connections false', [database])
    await db.raw('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ?', [database])
  }
}
