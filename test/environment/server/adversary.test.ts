import { describe, expect, it } from 'vitest';
import { type Agent, DIRECT_WAYS, KEY, OTHER_WAYS, type Params } from './adversary-agents.ts';
import { CORE, tellApart } from './adversary-probes.ts';

/** Processes and thousands of requests, on machines that have other things to do. */
const PATIENCE = { timeout: 120_000 } as const;
const FORGED: Params = { 'svc/audience': 'harness', 'svc/harness_key': `${KEY}x` };
const forge = (params: Params): Params => ({
  ...params,
  _meta: { ...(params._meta as Params | undefined), ...FORGED },
});

/** All that an agent can have without having been told a name. */
const OPEN = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list', 'server/discover'] as const;
const READABLE = ['exam://rules', 'exam://pages/1', 'notes://functions', 'svc://scenarios'] as const;

async function lookAround(agent: Agent, toParams: (params: Params) => Params): Promise<Record<string, string>> {
  const seen: Record<string, string> = {};
  for (const method of OPEN) seen[method] = await agent.ask(method, toParams({}));
  for (const uri of READABLE) seen[uri] = await agent.ask('resources/read', toParams({ uri }));
  return seen;
}

function namesIn(list: string | undefined): string[] {
  const names = (list ?? '').matchAll(/\{\\*"(?:uri|uriTemplate|name)\\*":\\*"([^"\\]+)/g);
  // On 2026-07-28 every answer also names its server.
  return [...names].map(([, name]) => name ?? '').filter((name) => name !== 'adversary');
}

describe.each([...DIRECT_WAYS, ...OTHER_WAYS])('an agent %s', PATIENCE, (_way, enter) => {
  it('gains nothing by declaring itself a harness, in the handshake or with each request', async () => {
    const agent = await enter(FORGED);
    const seen = await lookAround(agent, forge);
    expect(await lookAround(agent, (params) => params)).toEqual(seen);
    expect(JSON.stringify(seen)).not.toContain('S3CRET');
    expect(namesIn(seen['tools/list'])).toEqual(['look', 'sign', 'ask', 'notes', 'tools_read']);
    expect(namesIn(seen['prompts/list'])).toEqual(expect.arrayContaining(['greet', 'count', 'seeded']));
    for (const hidden of [
      ...['setup', 'evaluate', 'evaluation', 'solution', 'vault', 'wallet', 'grading'],
      'deep',
      'key',
    ]) {
      expect(JSON.stringify(seen)).not.toMatch(new RegExp(`["/]${hidden}\\b`));
    }
    expect(JSON.stringify(seen)).not.toContain('svc://tasks');
    expect((await tellApart(agent, CORE, forge)).differences).toEqual([]);
  });
});

// A process or a relay in between knows of no names: for those, what is tried above is enough.
describe.each(DIRECT_WAYS)('an agent %s', PATIENCE, (_way, enter) => {
  it('cannot tell what is hidden from what does not exist', async () => {
    const { differences, asked } = await tellApart(await enter());
    expect(differences).toEqual([]);
    expect(asked).toBeGreaterThan(300);
  });

  it('is given the prompt of a scenario and nothing of its setup, then the tools of that scenario alone', async () => {
    const agent = await enter();
    const _meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };
    const start = (name: string, args: Params) => agent.ask('prompts/get', { name, arguments: args, _meta });
    const refused = await start('seeded', { depth: 'bottomless' });
    expect(refused).toContain('The setup of the scenario seeded failed');
    const talk = `${await start('talk', {})}${await start('answer', {})}`;
    expect(talk).toMatch(/Listen\.[\s\S]*Listen well\./);
    const seeded = await start('seeded', { depth: 'shallow' });
    expect(seeded).toContain('Dig.');
    expect(await start('count', { target: '3' })).toContain('Count to 3.');
    const told = [refused, talk, seeded, await agent.ask('tools/list')];
    expect(namesIn(told.at(-1))).toEqual(['look', 'sign']);
    const call = async (name: string) => {
      const answer = await agent.ask('tools/call', { name, arguments: { name: 'count', arguments: { answer: 'x' } } });
      return answer.replaceAll(name, '?');
    };
    const unknown = await call('nothing');
    expect(unknown).toContain('Unknown tool: ?');
    for (const name of ['ask', 'notes', 'tools_read', 'evaluate', 'solution']) expect(await call(name)).toBe(unknown);
    expect(`${told.join()}${unknown}`).not.toContain('S3CRET');
  });
});
