import type { ApiDocument, Operation } from './document-shape.ts'
import { collectComponents } from './shared-components.ts'

/**
 * Returns the part of the document that integrators generate clients from: the authorization server, the
 * routes that accept an access token, and the components that these need. Sessions and their
 * cookie are left out.
 */
export function integrationsDocument(document: ApiDocument): ApiDocument {
  const isForIntegrators = ({ tags, security = document.security }: Operation) =>
    tags.includes('OAuth') || security.some(({ accessToken }) => accessToken)
  const paths: ApiDocument['paths'] = {}
  for (const [path, methods] of Object.entries(document.paths)) {
    const entries = Object.entries(methods).filter(([, operation]) => isForIntegrators(operation))
    if (entries.length > 0) paths[path] = Object.fromEntries(entries)
  }
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const usedComponents = collectComponents(document, paths)
  for (const scheme of operations.flatMap(({ security = [] }) => security).flatMap(Object.keys))
    usedComponents.add(`securitySchemes/${scheme}`)
  const components = Object.entries(document.components).map(([kind, parts]) => [
    kind,
    Object.fromEntries(Object.entries(parts).filter(([name]) => usedComponents.has(`${kind}/${name}`))),
  ])
  return {
    ...document,
    security: [],
    tags: document.tags.filter(({ name }) => operations.some(({ tags }) => tags.includes(name))),
    paths,
    components: Object.fromEntries(components),
  }
}
