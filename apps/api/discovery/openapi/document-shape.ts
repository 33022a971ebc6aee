export type JsonSchema = { [keyword: string]: unknown }

/** Refers to a component of the document. */
export interface Reference {
  $ref: string
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  /** Default: false. */
  required?: true
  description?: string
  schema: JsonSchema
}

export interface Media {
  schema: JsonSchema
  example?: unknown
}

export type Header = { description: string; schema: JsonSchema } | Reference

export interface AnswerObject {
  description: string
  headers?: Record<string, Header>
  content?: Record<string, Media>
}

/** Schemes that are required together, each with its scopes. */
export type SecurityRequirement = Partial<
  Record<'clientBasic' | 'accessToken' | 'session' | 'sessionCookie', string[]>
>

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  /** Default: that of the document. */
  security?: SecurityRequirement[]
  parameters?: (Parameter | Reference)[]
  requestBody?: { required: true; content: Record<string, Media> }
  responses: Record<string, AnswerObject | Reference>
}

/** The subset of OpenAPI 3.1 that the API uses. */
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
  /** For operations without requirements of their own: one of these must be met. */
  security: SecurityRequirement[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, JsonSchema>
    parameters: Record<string, Parameter>
    responses: Record<string, AnswerObject>
    headers: Record<string, Header>
    securitySchemes: Record<string, JsonSchema>
  }
}
