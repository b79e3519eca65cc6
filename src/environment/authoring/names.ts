import { HARNESS_HUBS, NAME_PATTERN } from '../../contract/names.ts';

/**
 * Checks the name of a tool, hub, scenario or prompt.
 *
 * @throws TypeError if it does not match `NAME_PATTERN`.
 */
export function checkName(kind: string, name: string): void {
  if (typeof name === 'string' && NAME_PATTERN.test(name)) return;
  throw new TypeError(
    `${kind} name ${JSON.stringify(name)} has to match ${NAME_PATTERN.source}: 1 to 64 letters, digits, "_" and "-"`,
  );
}

/** True for the hubs that always belong to the harness. A tool cannot have such a name. */
export function isHarnessHub(name: string): boolean {
  return HARNESS_HUBS.has(name);
}

/** The error for a name that is taken. */
export function duplicate(what: string, name: string, where: string): Error {
  return new Error(`${where} already has a ${what} named "${name}": names are unique, so rename one of them`);
}

/** The resource that lists the functions of a hub. */
export function functionsUri(hub: string): string {
  return `${hub}://functions`;
}

export function checkHook<H>(kind: string, hook: H): H {
  if (typeof hook === 'function') return hook;
  throw new TypeError(`${kind} takes a function, got ${typeof hook}`);
}
