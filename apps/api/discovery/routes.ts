import { z } from 'zod'
import { SCOPES } from '#shared/oauth/scopes.ts'
import type { Clock } from '#shared/process/clock.ts'
import { anyone, type RouteDescription } from '../http/route.ts'
import { createRouter, type Endpoint } from '../http/router.ts'
import type { ApiMiddleware, ApiRouter } from '../http/state.ts'
import { createDocs } from './docs/pages.ts'
import { createApiDocument } from './openapi/document.ts'
import type { ApiDocument } from './openapi/document-shape.ts'
import { integrationsDocument } from './openapi/integrations.ts'
import { PUBLISHED_HEADERS, serveFile } from './published.ts'
import { securityTxt } from './security-txt.ts'

const METADATA_PATH = '/.well-known/oauth-protected-resource'
const SECURITY_TXT_PATH = '/.well-known/security.txt'

const ResourceMetadata = z
  .object({
    resource: z.string(),
    authorization_servers: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    bearer_methods_supported: z.array(z.string()),
    resource_name: z.string(),
    resource_documentation: z.string(),
  })
  .meta({ id: 'ResourceMetadata' })

export interface DiscoveryDependencies {
  issuer: string
  apiResource: string
  /** The routes to describe. */
  routes: readonly RouteDescription[]
}

interface PublishingDependencies extends DiscoveryDependencies {
  clock: Clock
  /** If undefined, there is no security.txt. */
  securityContact: string | undefined
}

/** The URL of a resource's metadata: the well-known part goes between host and path (RFC 9728 §3.1). */
export function resourceMetadataUrl(apiResource: string): string {
  const { origin, pathname } = new URL(apiResource)
  return `${origin}${METADATA_PATH}${pathname === '/' ? '' : pathname}`
}

/** The OpenAPI document of `routes` and of the resource's own metadata. */
export const describeRoutes = ({ issuer, apiResource, routes }: DiscoveryDependencies): ApiDocument =>
  createApiDocument({
    routes: [...routes, metadataRoute({ issuer, apiResource })],
    issuer,
    apiResource,
  })

/**
 * Serves what people and programs need to find their way. It is public, and created for the first request.
 * `missingPage` follows all routers, and answers the addresses below /docs that have no page.
 */
export function createDiscovery(deps: PublishingDependencies): {
  router: ApiRouter
  missingPage: ApiMiddleware
} {
  const { issuer, apiResource, routes, clock, securityContact: contact } = deps
  const getMetadata = metadataRoute({ issuer, apiResource })
  let document: ApiDocument | undefined
  const openapi = () => {
    document ??= describeRoutes({ issuer, apiResource, routes })
    return document
  }
  const { pathname } = new URL(resourceMetadataUrl(apiResource))
  const { files, missingPage } = createDocs({ openapi, issuer, apiResource, securityContact: contact })
  files.set('/openapi.json', { type: 'application/json', content: () => JSON.stringify(openapi()) })
  files.set('/openapi/integrations.json', {
    type: 'application/json',
    content: () => JSON.stringify(integrationsDocument(openapi())),
  })
  const router = createRouter([
    getMetadata,
    ...(pathname === METADATA_PATH ? [] : [{ ...getMetadata, path: pathname }]),
    ...(contact
      ? [
          {
            method: 'get' as const,
            path: SECURITY_TXT_PATH,
            handler: securityTxt({ contact, apiResource, clock }),
          },
        ]
      : []),
    ...[...files].map(([path, file]) => ({ method: 'get' as const, path, handler: serveFile(file) })),
  ])
  return { router, missingPage }
}

function metadataRoute({
  issuer,
  apiResource,
}: Omit<DiscoveryDependencies, 'routes'>): RouteDescription & Endpoint {
  const metadata: z.infer<typeof ResourceMetadata> = {
    resource: apiResource,
    authorization_servers: [issuer],
    scopes_supported: [...SCOPES],
    bearer_methods_supported: ['header'],
    resource_name: 'Integration Access Service',
    resource_documentation: `${apiResource}/docs`,
  }
  return {
    method: 'get',
    path: METADATA_PATH,
    operationId: 'readResourceMetadata',
    tag: 'Discovery',
    summary: 'What this resource is and who issues tokens for it (RFC 9728)',
    description: 'Names the authorization server whose tokens are accepted here, and the scopes.',
    access: anyone,
    answers: {
      200: { description: 'The metadata.', schema: ResourceMetadata, headers: PUBLISHED_HEADERS },
      304: { description: 'Unchanged: `If-None-Match` names its tag.', headers: PUBLISHED_HEADERS },
    },
    handler: serveFile({ type: 'application/json', content: () => JSON.stringify(metadata) }),
  }
}
