import { describe, expect, it } from 'vitest';
import { createKey, openSession, startHost } from '../process/hosts.ts';
import { overMessages } from './adversary-agents.ts';
import { fixture } from './child.ts';
import { connect, setup } from './clients.ts';

const PATIENCE = { timeout: 120_000 } as const;

describe('the harness key of a session in a host', PATIENCE, () => {
  it.each(['legacy', 'modern'] as const)('is of no use to its neighbour (%s)', async (era) => {
    const { host } = await startHost({ module: fixture('adversary.ts') });
    const [ownKey, neighbourKey] = [createKey(), createKey()];
    const neighbour = await openSession(host, 'neighbour', { key: neighbourKey });
    await setup(neighbour.client, 'count', { target: 3 });
    const open = (session: string) => host.connect({ session, harnessKey: ownKey });
    const claim = (key: string | undefined) => ({
      'svc/audience': 'harness',
      ...(key === undefined ? {} : { 'svc/harness_key': key }),
    });
    const list = async (session: string, key: string | undefined) => {
      const agent = await overMessages(open(session), era, claim(key));
      return agent.ask('tools/list', era === 'modern' ? { _meta: claim(key) } : {});
    };
    const asAgent = await list('agent', undefined);
    expect(asAgent).not.toContain('solution');
    expect(await list('forger', neighbourKey)).toBe(asAgent);
    expect(await list('namesake', `${ownKey}x`)).toBe(asAgent);
    expect(await list('owner', ownKey)).toContain('solution');
  });

  it('opens what its neighbour has set up to nobody else', async () => {
    const { host } = await startHost({ module: fixture('adversary.ts') });
    const neighbour = await openSession(host, 'neighbour');
    await setup(neighbour.client, 'count', { target: 3 });
    const other = await openSession(host, 'other');
    const args = { name: 'count', arguments: { answer: 'x' } };
    const evaluated = await other.client.callTool({ name: 'evaluate', arguments: args });
    expect(evaluated).toMatchObject({ isError: true });
    expect(JSON.stringify(evaluated)).toContain('No scenario is active');
    const { tools } = await (await openAgent(host)).listTools();
    expect(tools.map(({ name }) => name)).toEqual(['look', 'sign', 'ask', 'notes', 'tools_read']);
  });
});

async function openAgent(host: Awaited<ReturnType<typeof startHost>>['host']) {
  return connect(host.connect({ session: 'agent', harnessKey: createKey() }));
}
