import { HARNESS_HUBS, NAME_PATTERN } from '../../contract/names.ts';
import type { EnvironmentDefinition, HubDefinition } from './definition.ts';

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

/** The hubs that contain one function for each scenario. */
const SCENARIO_HUBS: ReadonlySet<string> = new Set(['setup', 'evaluate', 'solution']);

/**
 * Each scenario needs its own name as a function name in these hubs. @throws Error if a hub already has such a
 * function.
 */
export function checkFunctionNames(hubs: Iterable<HubDefinition>, scenarios: Iterable<string>, label: string): void {
  const names = [...scenarios];
  for (const hub of hubs) {
    const taken = SCENARIO_HUBS.has(hub.name) ? names.find((name) => hub.tools.has(name)) : undefined;
    if (taken !== undefined) throw duplicate(`scenario and a function of the hub ${hub.name}`, taken, label);
  }
}

/**
 * Checks that the name `next` of the hub `user` is free. If a user is a function, the harness gets its messages there.
 */
export function checkUserHub(
  { scenarios, tools, hubs }: Pick<EnvironmentDefinition, 'scenarios' | 'tools' | 'hubs'>,
  label: string,
): void {
  if (![...scenarios.values()].some(({ user }) => user?.next !== undefined)) return;
  if (tools.has('user')) throw duplicate('tool', 'user', label);
  const hub = hubs.get('user');
  if (hub?.audience === 'agent' || hub?.tools.has('next')) throw duplicate('hub', 'user', label);
}

/** The resource that lists the functions of a hub. */
export function functionsUri(hub: string): string {
  return `${hub}://functions`;
}

export function checkHook<H>(kind: string, hook: H): H {
  if (typeof hook === 'function') return hook;
  throw new TypeError(`${kind} takes a function, got ${typeof hook}`);
}
