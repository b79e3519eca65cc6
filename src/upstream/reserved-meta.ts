/** `_meta` without what Proctor says there of itself: a connected server cannot speak for it. */
export function withoutReservedMeta<Thing extends { readonly _meta?: Readonly<Record<string, unknown>> | undefined }>(
  thing: Thing,
): Thing {
  if (thing._meta === undefined) return thing;
  return { ...thing, _meta: Object.fromEntries(Object.entries(thing._meta).filter(([key]) => !isReservedKey(key))) };
}

export function isReservedKey(key: string): boolean {
  return key.startsWith('svc/');
}
