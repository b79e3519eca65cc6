import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { TraceStore } from '../../src/store/traces/trace-store.ts';
import { until } from '../until.ts';
import type { Deployment } from './deployment.ts';
import { untilEvent } from './progress.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ANSWERED_WITHIN_MS = 90_000;
/** An environment whose sessions share processes, and do what a run says. */
export const HOSTED = fileURLToPath(new URL('./fixtures/hosted/environment.ts', import.meta.url));

type Call = readonly [name: string, args?: Readonly<Record<string, string | number>>];

/** The body of a run, or the scenario of a chat session, that makes these calls, one after the other. */
export function play(...calls: readonly Call[]) {
  const scenario_args = { calls: calls.map(([name, args = {}]) => ({ name, args })) };
  return { env_name: 'hosted', scenario_name: 'play', scenario_args };
}

/** A call that does not end before `open` was called. */
export function gateIn(directory: string, name: string): { readonly call: Call; open(): void } {
  const file = join(directory, name);
  return { call: ['gate', { file }], open: () => writeFileSync(file, '') };
}

export interface Answer {
  /** Of the code. */
  readonly version: string;
  readonly pid: number;
}

/** The answers of the tools in one attempt of a run, so far. */
export async function answersOf(store: TraceStore, traceId: string, attempt: number): Promise<readonly Answer[]> {
  return (await store.events(traceId)).flatMap((event) => {
    if (event.type !== 'tool.responded' || event.attempt !== attempt) return [];
    const [block] = event.content;
    const [, version, pid] = /^(v\d+) (\d+)$/.exec(block?.type === 'text' ? String(block.text) : '') ?? [];
    return version === undefined ? [] : [{ version, pid: Number(pid) }];
  });
}

/** The process that the first call of an attempt was answered by. */
export async function untilAnswered(store: TraceStore, traceId: string, attempt: number): Promise<number> {
  const answers = await until(
    async () => {
      const found = await answersOf(store, traceId, attempt);
      return found.length > 0 && found;
    },
    { withinMs: ANSWERED_WITHIN_MS },
  );
  return answers[0]?.pid ?? 0;
}

export interface FullHost {
  readonly pid: number;
  /** Those that are in it. */
  readonly ids: readonly string[];
  /** All runs that were accepted. */
  readonly accepted: readonly string[];
}

/** Sends runs whose first call is `who`, and waits until all of them are in one host. It is the only process left. */
export async function fillHost(deployment: Deployment, port: number, bodies: readonly object[]): Promise<FullHost> {
  // The first run has the code read and compiled. The others then come to its host together.
  const first = await deployment.run(port, play(['who']));
  await untilEvent(deployment, first, 'run.finished', 1);
  const ids = await Promise.all(bodies.map((body) => deployment.run(port, body)));
  const pids = new Set<number>();
  for (const id of ids) pids.add(await untilAnswered(deployment.store, id, 1));
  await until(() => expect(deployment.environments()).toEqual([...pids]), { withinMs: ANSWERED_WITHIN_MS });
  const [pid = 0] = pids;
  expect(pids.size).toBe(1);
  return { pid, ids, accepted: [first, ...ids] };
}

/** A copy of the environment whose code can be changed, in a folder that can load what it imports. */
export function copyHosted(directory: string): { readonly path: string; change(from: string, to: string): void } {
  const path = join(directory, 'environments', 'hosted', 'environment.ts');
  const source = readFileSync(HOSTED, 'utf8');
  mkdirSync(dirname(path), { recursive: true });
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(ROOT, join(directory, 'node_modules', 'proctor'));
  symlinkSync(join(ROOT, 'node_modules', 'zod'), join(directory, 'node_modules', 'zod'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(path, source);
  return { path, change: (from, to) => writeFileSync(path, source.replaceAll(from, to)) };
}
