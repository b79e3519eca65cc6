/** JSON with sorted object members. Undefined becomes `null`. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/** True if two values are the same JSON. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const entries = Object.entries(one);
  if (entries.length !== Object.keys(other).length) return false;
  return entries.every(([name, member]) => Object.hasOwn(other, name) && isSameJson(member, Reflect.get(other, name)));
}
