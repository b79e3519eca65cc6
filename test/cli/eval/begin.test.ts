import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { begin } from '../../../src/cli/evaluate/eval/begin.ts';
import type { EvalOptions } from '../../../src/cli/evaluate/eval/eval-options.ts';
import type { ServiceClient } from '../../../src/client/service-client.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import type { Installation } from '../../../src/service/runs/installation.ts';
import { openService } from '../../../src/service/runs/open-service.ts';
import { APP_URL, COUNTER, openParts } from '../../service/runs/service.ts';

const OPTIONS: EvalOptions = { model: ['proctor/oracle'], passThreshold: 1, minCoverage: 0.9 };
const view = { note: () => {} } as unknown as Parameters<typeof begin>[2]['view'];

async function openClient(): Promise<ServiceClient> {
  const parts = await openParts();
  const project = { environments: new Map([['counter', COUNTER]]), models: createModels({}) };
  const installation = { ...parts, ...project, settings: { appUrl: APP_URL } } as unknown as Installation;
  const service = await openService(installation, { logger: pino({ level: 'silent' }) });
  onTestFinished(() => service[Symbol.asyncDispose]());
  return service.client;
}

/** Ctrl-C comes when the evaluation is stored, before its id is known. */
function stoppedAfterCreation(client: ServiceClient): { readonly client: ServiceClient; readonly stop: AbortSignal } {
  const stopping = new AbortController();
  const create: ServiceClient['evaluations']['create'] = async (evaluation) => {
    await client.evaluations.create(evaluation);
    stopping.abort(new Error('Stopped by SIGINT'));
    throw stopping.signal.reason;
  };
  return { client: { ...client, evaluations: { ...client.evaluations, create } }, stop: stopping.signal };
}

async function statuses(client: ServiceClient): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { status } of client.evaluations.all()) found.push(status);
  return found;
}

describe('an evaluation that a command begins', () => {
  it('is paused when Ctrl-C comes while it is being created, and the same command goes on with it', async () => {
    const client = await openClient();
    const { stop, ...stopped } = stoppedAfterCreation(client);
    await expect(begin('counter/count_to', OPTIONS, { place: stopped, view, stop })).rejects.toThrow('SIGINT');
    expect(await statuses(client)).toEqual(['paused']);

    const again = await begin('counter/count_to', OPTIONS, { place: { client }, view, stop: AbortSignal.any([]) });
    expect(again.status).toBe('running');
    expect(await statuses(client)).toEqual(['running']);
  });

  it('stays paused when Ctrl-C comes before it is set going, unless it is to go on elsewhere', async () => {
    const client = await openClient();
    const stop = AbortSignal.abort(new Error('Stopped by SIGINT'));
    // The answer arrived in the moment of the signal.
    const create: ServiceClient['evaluations']['create'] = (evaluation) => client.evaluations.create(evaluation);
    const place = { client: { ...client, evaluations: { ...client.evaluations, create } } };
    expect((await begin('counter/count_to', OPTIONS, { place, view, stop })).status).toBe('paused');
    const detached = { ...OPTIONS, detach: true, new: true };
    expect((await begin('counter/count_to', detached, { place, view, stop })).status).toBe('running');
  });

  it('goes on where another process works on it', async () => {
    const client = await openClient();
    const stop = AbortSignal.any([]);
    const first = await begin('counter/count_to', OPTIONS, { place: { client }, view, stop });
    const { stop: pressed, ...stopped } = stoppedAfterCreation(client);
    await expect(begin('counter/count_to', OPTIONS, { place: stopped, view, stop: pressed })).rejects.toThrow();
    expect([first.status, await statuses(client)]).toEqual(['running', ['running']]);
  });
});
