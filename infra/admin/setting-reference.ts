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

/** Returns the settings of a program, from the schemas that parse them. */
export function listSettings(shape: z.ZodRawShape): SettingReference[] {
  return Object.entries(shape).map(([name, schema]) => {
    const { description = '', unit = '', fallback, secret } = z.globalRegistry.get(schema) ?? {}
    const required = !z.safeParse(schema, undefined).success
    return {
      name,
      description,
      unit: String(unit),
      fallback: required ? 'required' : String(fallback ?? findDefault(schema) ?? 'none'),
      secret: secret === true,
    }
  })
}

/** Returns the default of the innermost schema that has one, since transforms wrap it. */
function findDefault(schema: z.core.$ZodType): unknown {
  const definition = schema._zod.def as { type: string; in?: z.core.$ZodType; defaultValue?: unknown }
  if (definition.type === 'default')
    return definition.defaultValue === '' ? undefined : definition.defaultValue
  return definition.in && findDefault(definition.in)
}
