import { describe, expect, it } from 'vitest';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { overRequests, overSession } from '../../environment/server/adversary-agents.ts';
import { KINDS, tellApart } from '../../environment/server/adversary-probes.ts';
import createAdversary from '../../environment/server/fixtures/adversary.ts';
import { startService } from '../../service/runs/service.ts';
import { addressOf, openSeat } from './seat.ts';

async function openAdversary(scenario: string, args: object) {
  const service = await startService({ environments: new Map([['adversary', inMemory(createAdversary)]]) });
  const seat = await openSeat(service, { env_name: 'adversary', scenario_name: scenario, scenario_args: args });
  return { service, seat, url: addressOf(seat) };
}

const FORGED = { 'svc/audience': 'harness', 'svc/harness_key': 'guessed', 'svc/solution_results': [] };

describe('an agent at a seat that looks for its reward', { timeout: 120_000 }, () => {
  it.each(['session-based', '2026-07-28'])('cannot tell what is hidden from what does not exist (%s)', async (era) => {
    const { url } = await openAdversary('count', { target: 3 });
    const agent = era === '2026-07-28' ? overRequests(url) : await overSession(url, FORGED);
    const { differences, asked } = await tellApart(agent, KINDS);
    expect(differences).toEqual([]);
    expect(asked).toBeGreaterThan(300);
    const forged = await tellApart(agent, KINDS, (params) => ({
      ...params,
      _meta: { ...(params._meta as object | undefined), ...FORGED },
    }));
    expect(forged.differences).toEqual([]);
  });

  it('is shown the tools of its scenario, one prompt and what any agent may read', async () => {
    const { url } = await openAdversary('count', { target: 3 });
    const agent = await overSession(url);
    const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'] as const;
    const [tools = '', prompts = '', resources = '', templates = ''] = await Promise.all(
      lists.map((list) => agent.ask(list)),
    );
    const names = (text: string) => [...text.matchAll(/\\"name\\":\\"([^"\\]+)\\"/g)].map(([, name]) => name);
    expect(names(tools)).toEqual(['look', 'sign', 'submit_answer']);
    expect(names(prompts)).toEqual(['task']);
    expect(`${tools}${prompts}${resources}${templates}`).not.toContain('S3CRET');
    expect(await agent.ask('resources/read', { uri: 'exam://rules' })).toContain('contents');
    expect(await agent.ask('resources/read', { uri: 'exam://key' })).not.toContain('contents');
  });

  it('does not set its scenario up again by a prompt', async () => {
    const { url } = await openAdversary('count', { target: 3 });
    const agent = await overSession(url);
    const unknown = (await agent.ask('prompts/get', { name: 'nothing' })).replaceAll('nothing', '?');
    expect(
      (await agent.ask('prompts/get', { name: 'count', arguments: { target: '3' } })).replaceAll('count', '?'),
    ).toBe(unknown);
  });
});
