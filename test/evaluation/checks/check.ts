import { fileURLToPath } from 'node:url';
import type { CheckedEnvironment, CheckFinding } from '../../../src/contract/service/check.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { type CheckOptions, checkEnvironments } from '../../../src/evaluation/checks/check-environments.ts';

/** Checks one environment of a test. */
export async function check(target: EnvironmentTarget, options: CheckOptions = {}): Promise<CheckedEnvironment> {
  const report = await checkEnvironments([{ name: 'tried', target }], { limitMs: 20_000, ...options });
  return report.environments[0] as CheckedEnvironment;
}

/** In this process, where it does not matter in which. */
export async function inThisProcess(file: string): Promise<EnvironmentTarget> {
  const { default: factory } = await import(file);
  return inMemory(factory);
}

/** As its users start it. */
export function asModule(file: string): EnvironmentTarget {
  return { kind: 'module', path: fileURLToPath(new URL(file, import.meta.url)) };
}

/** Findings of a level, in their order, each once. */
export function findingsOf({ findings }: CheckedEnvironment, level: CheckFinding['level']): readonly string[] {
  return [...new Set(findings.filter((each) => each.level === level).map(({ finding }) => finding))];
}
