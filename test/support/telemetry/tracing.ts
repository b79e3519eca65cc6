import { EnvironmentServer } from 'proctor';
import { onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { registerTracingSdk, type TracingSdk } from '../../../src/cli/base/telemetry-sdk.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { type Collector, startCollector } from './collector.ts';

export interface Tracing extends Collector {
  /** Exports what there is; nothing is recorded any more. */
  flush(): Promise<void>;
  readonly warnings: string[];
}

/** The SDK in this process, with a collector, until the test ends. */
export async function startTracing(
  variables: Readonly<Record<string, string>> = {},
  collecting: Parameters<typeof startCollector>[0] = {},
): Promise<Tracing> {
  const collector = await startCollector(collecting);
  const all = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...variables };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  const warnings: string[] = [];
  const sdk: TracingSdk = registerTracingSdk(process.env, (message) => warnings.push(message));
  let flushed: Promise<void> | undefined;
  const flush = () => {
    flushed ??= sdk
      .flush()
      .catch(() => {}) // Said by a warning.
      .finally(() => sdk.destroy());
    return flushed;
  };
  onTestFinished(async () => {
    await flush();
    vi.unstubAllEnvs();
  });
  return { ...collector, flush, warnings };
}

export interface Observed {
  readonly target: EnvironmentTarget;
  /** `_meta` of setup, tool calls and evaluation, as the environment got them. */
  readonly meta: { readonly at: string; readonly meta: Readonly<Record<string, unknown>> }[];
}

/** An environment in memory that keeps what `_meta` it is given. */
export function createObserved(): Observed {
  const meta: Observed['meta'] = [];
  const environment = () => {
    const server = new EnvironmentServer({ name: 'observed', version: '2.0.0' });
    server.tool('add', { args: { a: z.number(), b: z.number() } }, ({ a, b }, context) => {
      meta.push({ at: 'add', meta: context.meta });
      return a + b;
    });
    server.tool('broken', {}, () => {
      throw new Error('It does not work');
    });
    server.tool('hang', {}, async (_args, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    server.scenario(
      'sum',
      { solution: () => ({ calls: [{ name: 'add', arguments: { a: 1, b: 2 } }], answer: '3' }) },
      async function* (_args, context) {
        meta.push({ at: 'setup', meta: context.meta });
        const answer = yield 'What is 1 + 2?';
        meta.push({ at: 'evaluate', meta: context.meta });
        return { reward: answer === '3' ? 1 : 0, content: 'as asked' };
      },
    );
    return server;
  };
  return { target: inMemory(environment), meta };
}
