interface Actor {
  /** null: it was not a person. */
  userId: string | null
  name: string
}

/** Returns who did something: a person's name, "the operator", or "the service" and why. */
export const actorName = ({ userId, name }: Actor, the: 'the' | 'The' = 'the'): string =>
  userId === null ? `${the} ${name}` : name
