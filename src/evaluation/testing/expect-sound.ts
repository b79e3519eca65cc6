import type { CheckedEnvironment, CheckFinding, FindingName } from '../../contract/service/check.ts';
import type { EnvironmentSource } from '../../environment/authoring/environment-source.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { inMemory } from '../../environment/server/in-memory.ts';

export interface ExpectSoundOptions {
  /** Tasks of each scenario, at most. Default 5. */
  readonly tasks?: number;
  /** Picks the tasks, and seeds environments and agents. Default 0. */
  readonly seed?: number;
  /** A reward from here on passes. Default 1. */
  readonly passThreshold?: number;
  /** Milliseconds for the start of a session, its setup, each call and its evaluation. Default 30,000. */
  readonly limitMs?: number;
  /** Milliseconds for all of it: what has not begun by then is left out, and named by notes. Default 300,000. */
  readonly maxMs?: number;
  /** Findings whose warnings are known, and meant so. Errors are never allowed. */
  readonly allowWarnings?: readonly FindingName[];
  readonly signal?: AbortSignal;
}

/**
 * Tries an environment as `proctor check` does, and throws where its rewards mean less than they say.
 *
 * @param environment what a module exports by default, which is tried in this process; or the path of a module, which is
 *   started as its users start it, so that processes and files are looked at too.
 * @returns the report.
 * @throws Error that lists the errors, and the warnings that are not allowed, each with the way to see it again.
 */
export async function expectSound(
  environment: EnvironmentSource | string,
  { allowWarnings = [], ...options }: ExpectSoundOptions = {},
): Promise<CheckedEnvironment> {
  const isPath = typeof environment === 'string';
  const target: EnvironmentTarget = isPath ? { kind: 'module', path: environment } : inMemory(environment);
  const name = isPath ? environment : 'the environment';
  const { checkEnvironments } = await import('../checks/check-environments.ts');
  const { environments } = await checkEnvironments([{ name, target }], options);
  const [checked] = environments;
  if (checked === undefined) throw new TypeError('A check of one environment gave no report of it');
  const wrong = checked.findings.filter(
    ({ level, finding }) => level === 'error' || (level === 'warning' && !allowWarnings.includes(finding)),
  );
  if (wrong.length === 0) return checked;
  throw new Error(`The environment is not sound:\n${wrong.map(toLine).join('\n')}`);
}

function toLine({ level, finding, scenario, task, message }: CheckFinding): string {
  const place = [scenario, task].filter((part) => part !== null).join('/');
  return `- ${level} ${finding}${place === '' ? '' : ` (${place})`}: ${message}`;
}
