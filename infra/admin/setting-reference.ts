import { z } from 'zod'

/** One setting, as the settings reference shows it. */
export interface SettingReference {
  name: string
  description: string
  unit: string
  /** The default as it would be written, or `required`. */
  fallback: string
  /** `<NAME>_FILE` may be used instead. */
  secret: boolean
}

/** The settings of a program, taken from the schemas that parse them. */
export function listSettings(shape: z.ZodRawShape): SettingReference[] {
  return Object.entries(shape).map(([name, schema]) => {
    const { description = '', unit = '', fallback, secret } = z.globalRegistry.get(schema) ?? {}
    const required = !z.safeParse(schema, undefined).success
    return {
      name,
      description,
      unit: String(unit),
      fallback: required ? 'required' : String(fallback ?? defaultOf(schema) ?? 'none'),
      secret: secret === true,
    }
  })
}

/** The default of the innermost schema that has one: transforms wrap it. */
function defaultOf(schema: z.core.$ZodType): unknown {
  const definition = schema._zod.def as { type: string; in?: z.core.$ZodType; defaultValue?: unknown }
  if (definition.type === 'default')
    return definition.defaultValue === '' ? undefined : definition.defaultValue
  return definition.in && defaultOf(definition.in)
}
