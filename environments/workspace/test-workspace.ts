import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { inMemory } from 'proctor';
import { connectEnvironment, type EnvironmentClient } from 'proctor/client';
import { describe, onTestFinished } from 'vitest';
import WorkspaceEnvironment, { type WorkspaceOptions } from './environment.ts';
import { openSandbox, type SandboxKind } from './sandbox/sandbox.ts';
import type { CommandReport } from './workspace.ts';

const problem = await openSandbox({ kind: 'bubblewrap', program: 'bwrap' }).then(
  () => undefined,
  (error: unknown) => String(error),
);
if (problem !== undefined) console.warn(`SKIPPED: the tests of the sandbox, because it does not work here. ${problem}`);

/** A suite that needs the sandbox; it is skipped, which is printed, where there is none. */
export const describeInSandbox = describe.skipIf(problem !== undefined);

/** The sandboxes that work here. */
export const kinds: readonly SandboxKind[] = problem === undefined ? ['bubblewrap', 'none'] : ['none'];

/** A session of its own in this process, which ends with the test. */
export async function connect(options: WorkspaceOptions = {}): Promise<EnvironmentClient> {
  const environment = () => new WorkspaceEnvironment(options);
  const client = await connectEnvironment(inMemory(environment));
  onTestFinished(() => client.close());
  return client;
}

/** What a command reports. @throws Error for a call that failed. */
export async function command(client: EnvironmentClient, text: string, timeoutMs?: number): Promise<CommandReport> {
  const given = timeoutMs === undefined ? {} : { timeout_ms: timeoutMs };
  const result = await client.call('run_command', { command: text, ...given });
  if (result.is_error) throw new Error(textOf(result));
  return result.structured_content as unknown as CommandReport;
}

/** The text of a tool's result, whether it failed or not. */
export async function say(client: EnvironmentClient, tool: string, args: Record<string, string | number | boolean>) {
  const result = await client.call(tool, args);
  return { text: textOf(result), isError: result.is_error };
}

function textOf({ content }: { readonly content: readonly unknown[] }): string {
  return content
    .map((block) => (typeof block === 'object' && block !== null && 'text' in block ? String(block.text) : ''))
    .join('');
}

/** Plays the solution of a task. */
export async function solve(client: EnvironmentClient, scenario: string, task: string): Promise<void> {
  const { calls } = await client.solution(scenario, { task }, []);
  for (const call of calls) await client.call(call.name, call.arguments);
}

/** Resolves when no process of this machine has the mark in its command line. */
export async function gone(mark: string): Promise<void> {
  while (isRunning(mark)) await delay(20);
}

/** Resolves when a process has the mark in its command line. */
export async function running(mark: string): Promise<void> {
  while (!isRunning(mark)) await delay(20);
}

function isRunning(mark: string): boolean {
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name) || name === String(process.pid)) return false;
    try {
      return existsSync(`/proc/${name}`) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(mark);
    } catch {
      return false;
    }
  });
}
