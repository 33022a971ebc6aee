/** Inserts an entry, and removes the oldest once there are more than `max`: a Map keeps insertion order. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > max) map.delete(map.keys().next().value as Key)
}
