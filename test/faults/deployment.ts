import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, type TestContext } from 'vitest';
import { z } from 'zod';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { openQueue } from '../../src/store/queue/open-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../src/store/traces/trace-store.ts';
import { freePort } from '../free-port.ts';

import { type Reply, send } from '../support/http/http-server.ts';
import type { StoreKind } from './form.ts';
import { markedProcesses } from './marked-processes.ts';
import { type Ending, expectNothingLost, withoutEnd } from './nothing-lost.ts';
import { reportFault } from './report.ts';
import { openStores, type Stores } from './stores.ts';

const MAX_STARTS = 10;
const STOP_LIMIT_MS = 60_000;

export type Role = 'server' | 'worker' | 'both';

export interface Node {
  readonly role: Role;
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

/** Processes of the run service that share one database, until the test ends. */
export interface Deployment {
  readonly database: Database;
  readonly store: TraceStore;
  readonly directory: string;
  /** Those that work. */
  readonly nodes: ReadonlySet<Node>;
  /** Without a port: one that is free. Variables: beside those of the deployment. */
  start(role: Role, options?: { readonly port?: number; readonly variables?: Variables }): Promise<Node>;
  /** `kill -9`, and waits for its end. */
  kill(node: Node): Promise<void>;
  /** One request to the server of this port, with the key of a client. @throws when nobody answers. */
  request(port: number, path: string, body?: object, idempotencyKey?: string): Promise<Reply>;
  /**
   * Sends a run to the server of this port until it is accepted: with one idempotency key, as a client does that cannot
   * know whether it was before the connection broke.
   */
  run(port: number, body: object): Promise<string>;
  /** Processes of environments that run now. */
  environments(): readonly number[];
  /** Expects what has to hold after any fault (`expectNothingLost`); gives the end of each accepted run. */
  settle(accepted: readonly string[], withinMs: number): Promise<ReadonlyMap<string, Ending>>;
}

type Variables = Readonly<Record<string, string>>;

export interface DeploymentOptions {
  /** As the table at the end of `npm run test:faults` calls it. */
  readonly fault: string;
  /** Default: a SQLite file. */
  readonly stores?: Stores | StoreKind;
  /** Of every process. */
  readonly variables?: Variables;
  /** Default: one of its own. */
  readonly directory?: string;
}

/** @param context of the test: tests that run side by side have one each. */
export async function createDeployment(
  { onTestFinished, task }: TestContext,
  { fault, stores = 'sqlite', variables = {}, directory = temporaryDirectory(onTestFinished) }: DeploymentOptions,
): Promise<Deployment> {
  const addresses = typeof stores === 'string' ? await openStores(stores, directory) : stores;
  const database = await openDatabase(addresses.databaseUrl);
  onTestFinished(() => database.close());
  const store = createTraceStore(database, { appUrl: 'https://app.example' });
  const { key } = await createAccounts(database).createKey({ name: 'faults' });
  // Inherited by all that the processes start, however they are started.
  const [markName, markValue] = ['FAULT_DEPLOYMENT', randomBytes(12).toString('hex')];
  const processes = () => markedProcesses(`${markName}=${markValue}`);
  const children = new Set<ChildProcess>();
  const nodes = new Set<Node>();
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  const startedAt = performance.now();
  let outcome = { runs: 0, lost: 0, startedAgain: 0 };
  onTestFinished(() => {
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    reportFault({ fault, ...outcome, seconds, hasPassed: task.result?.state === 'pass' });
  });

  const startNode = async (role: Role, port: number, own: Variables): Promise<Node | undefined> => {
    const { databaseUrl, queueUrl = '' } = addresses;
    const child = spawn(process.execPath, [fixture('node.mjs'), role, databaseUrl, queueUrl, String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, CLOCK_FILE: join(directory, 'clock'), ...variables, ...own, [markName]: markValue },
    });
    const node: Node = { role, child, pid: child.pid ?? 0, port };
    children.add(child);
    child.once('exit', () => {
      children.delete(child);
      nodes.delete(node);
    });
    const works = once(createInterface({ input: child.stdout }), 'line').then(() => true);
    if (!(await Promise.race([works, once(child, 'exit').then(() => false)]))) return undefined;
    nodes.add(node);
    return node;
  };

  const deployment: Deployment = {
    database,
    store,
    directory,
    nodes,
    async start(role, { port, variables: own = {} } = {}) {
      const ownPort = port ?? (await freePort());
      // As a supervisor does: a process that stands still may hold the lock of the file for longer than one waits for it.
      for (let tries = 1; ; tries += 1) {
        const node = await startNode(role, ownPort, own);
        if (node !== undefined) return node;
        if (tries === MAX_STARTS) throw new Error(`A ${role} did not start in ${tries} attempts`);
        await sleep(1_000);
      }
    },
    async kill({ child }) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async request(port, path, body, idempotencyKey) {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      };
      const content = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      return await send(`http://127.0.0.1:${port}`, path, { headers, ...content });
    },
    async run(port, body) {
      const idempotencyKey = randomBytes(8).toString('hex');
      const run = { model: 'proctor/oracle', ...body };
      for (;;) {
        const reply = await deployment.request(port, '/v1/agent/run', run, idempotencyKey).catch(() => undefined);
        if (reply?.status === 200) return traceIdOf(reply);
        if (reply !== undefined && reply.status < 500 && reply.status !== 409) throw new Error(reply.text);
        await sleep(100);
      }
    },
    environments: () =>
      processes()
        .filter(({ command }) => command.includes('environment-main.js'))
        .map(({ pid }) => pid),
    async settle(accepted, withinMs) {
      const queue = await openQueue(addresses.queueUrl, database);
      try {
        const stop = async () => void (await Promise.all([...nodes].map(stopNode)));
        const aftermath = { database, store, queue, accepted, withinMs, stop, processes };
        const endings = await expectNothingLost(aftermath);
        const attempts = [...endings.values()].reduce((sum, each) => sum + each.attempts, 0);
        outcome = { runs: accepted.length, lost: 0, startedAgain: attempts - endings.size };
        return endings;
      } catch (error) {
        outcome = { ...outcome, runs: accepted.length, lost: (await withoutEnd(database, accepted)).length };
        throw error;
      } finally {
        await queue.close();
      }
    },
  };
  return deployment;
}

export function traceIdOf(reply: Reply): string {
  return z.object({ trace_id: z.string() }).parse(reply.json).trace_id;
}

/** Worker for worker: each gives up what it holds, and its process is gone. */
async function stopNode({ child }: Node): Promise<void> {
  const gone = once(child, 'exit', { signal: AbortSignal.timeout(STOP_LIMIT_MS) });
  child.kill('SIGTERM');
  expect(await gone).toEqual([0, null]);
}

/** Until the test ends. */
export function temporaryDirectory(onEnd: TestContext['onTestFinished']): string {
  const directory = mkdtempSync(join(tmpdir(), 'proctor-faults-'));
  onEnd(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
}
