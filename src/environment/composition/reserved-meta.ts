/** Removes the reserved keys from `_meta`, so that a connected server cannot forge Proctor's own metadata. */
export function withoutReservedMeta<Thing extends { readonly _meta?: Readonly<Record<string, unknown>> | undefined }>(
  thing: Thing,
): Thing {
  if (thing._meta === undefined) return thing;
  return { ...thing, _meta: Object.fromEntries(Object.entries(thing._meta).filter(([key]) => !isReservedKey(key))) };
}

export function isReservedKey(key: string): boolean {
  return key.startsWith('svc/');
}
