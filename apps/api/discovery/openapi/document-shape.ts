export type JsonSchema = { [keyword: string]: unknown }

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: JsonSchema
}

export interface Media {
  schema: JsonSchema
  example?: unknown
}

export type Header = { description: string; schema: JsonSchema } | { $ref: string }

export interface Answer {
  description: string
  headers?: Record<string, Header>
  content?: Record<string, Media>
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: Record<string, string[]>[]
  parameters: Parameter[]
  requestBody?: { required: true; content: Record<string, Media> }
  responses: Record<string, Answer | { $ref: string }>
}

/** As much of OpenAPI 3.1 as the API uses. */
export interface ApiDocument {
  openapi: '3.1.0'
  info: {
    title: string
    version: string
    description: string
    contact: { name: string; url: string }
    license: { name: string; identifier: string }
  }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, JsonSchema>
    responses: Record<string, Answer>
    headers: Record<string, Header>
    securitySchemes: Record<string, JsonSchema>
  }
}
