import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { agentsOf, plays } from '../../rollout/agents/agents.ts';
import { until } from '../../until.ts';
import { COUNTER, openParts, startService, traceIdOf } from './service.ts';

vi.setConfig({ testTimeout: 60_000 });

const counter = () => new Map([['counter', COUNTER]]);

/** A logger, and the lines of warnings that it got. */
function listen() {
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  return { logger, lines };
}

describe('a run that a worker cannot play', () => {
  it('waits for another one at no cost where its environment is missing; a line names process, port and remedy', async () => {
    const parts = await openParts();
    const { logger, lines } = listen();
    const environments = new Map<string, EnvironmentTarget>([['other', COUNTER]]);
    const older = await startService({ parts, environments, logger });
    const newer = await startService({ parts, environments: counter(), worker: false });
    const missing = traceIdOf(await newer.run());
    const [line = ''] = await until(() => lines.length > 0 && lines);
    expect(line).toContain('environment "counter"');
    expect(line).toContain(`process ${process.pid} at ${older.url}`);
    expect(line).toMatch(/add it to .*proctor\.config\.ts there, or start "proctor worker"/);
    // It takes what comes behind.
    const other = traceIdOf(await older.run({ env_name: 'other' }));
    expect(await older.ended(other)).toMatchObject({ status: 'completed' });
    expect(await parts.store.row(missing)).toMatchObject({ status: 'queued', attempt: 1 });
    await startService({ parts, environments: counter() });
    expect(await newer.ended(missing)).toMatchObject({ status: 'completed', attempt: 1, attempts: [{ attempt: 1 }] });
    expect(lines).toHaveLength(1);
  });

  it('waits for another one at no cost where its agent is missing, and runs behind it do not', async () => {
    const parts = await openParts();
    const { logger, lines } = listen();
    const agents = agentsOf({ counts: plays('count', '3') });
    const newer = await startService({ parts, agents, worker: false });
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push(traceIdOf(await newer.run({ agent: 'counts', model: undefined })));
    await startService({ parts, agents: agentsOf({}), worker: { concurrency: 1 }, logger });
    expect(await newer.ended(traceIdOf(await newer.run()))).toMatchObject({ status: 'completed' });
    const rows = await parts.store.rows(ids);
    expect(ids.map((id) => [rows.get(id)?.status, rows.get(id)?.attempt])).toEqual(ids.map(() => ['queued', 1]));
    expect(lines).toEqual([expect.stringMatching(new RegExp(`agent "counts" .*process ${process.pid} at http`))]);
    await startService({ parts, agents });
    for (const id of ids) expect(await newer.ended(id)).toMatchObject({ attempts: [{ attempt: 1 }] });
  });

  it('is played as soon as a look finds what it needs', async () => {
    const parts = await openParts();
    const environments = new Map<string, EnvironmentTarget>();
    const found = new Map<string, EnvironmentTarget>();
    const { logger, lines } = listen();
    const lookAgain = async () => {
      for (const [name, target] of found) environments.set(name, target);
      return undefined;
    };
    const service = await startService({ parts, environments, lookAgain, logger });
    const accepting = await startService({ parts, environments: counter(), worker: false });
    const traceId = traceIdOf(await accepting.run());
    await until(() => lines.length > 0);
    expect((await service.run()).status).toBe(404);
    found.set('counter', COUNTER);
    expect((await service.run()).status).toBe(200);
    expect(await service.ended(traceId)).toMatchObject({ status: 'completed', attempt: 1 });
  });
});
