import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { serveOpenEnv } from './openenv-server.ts';
import { serveOrs } from './ors-server.ts';

const KINDS = {
  talk: { user: { instructions: 'You want tea.' } },
  judged: { judge: true },
  plain: {},
} as const;

/** An environment with scenarios that need models of the harness, and one that needs none. */
function needy(...names: readonly (keyof typeof KINDS)[]) {
  return inMemory(() => {
    const env = new EnvironmentServer({ name: 'needy', sessionsPerProcess: 1_000 });
    for (const name of names) {
      env.scenario(name, KINDS[name], async function* () {
        yield `Play ${name}.`;
        return 1;
      });
    }
    return env;
  });
}

const lines: string[] = [];
const logger = { warn: (line: string) => lines.push(line), info() {}, error() {} } as never; // Nothing else is called.
const judging = { models: createModels({ harness: { judge: 'gpt-judge' } }) };

describe('a scenario that clients of other protocols cannot play', () => {
  it('is no environment of ORS, and the log names it with the reason', async () => {
    const environments = new Map([['needy', needy('talk', 'judged', 'plain')]]);
    const { client } = await serveOrs({ environments, logger });
    expect((await client.get('/list_environments')).json).toEqual(['plain']);
    const told = lines.join('\n');
    expect(told).toContain('Not served: The scenario talk has a simulated user');
    expect(told).toContain('judged: set models.judge in the configuration');
    const { client: other } = await serveOrs({ environments, ...judging });
    expect((await other.get('/list_environments')).json).toEqual(['judged', 'plain']);
  });

  it('is refused by reset of OpenEnv by its name, and the only one that is left needs no name', async () => {
    const { connect, server } = await serveOpenEnv({ environment: ['needy', needy('talk', 'plain')], logger });
    expect(server.scenarios).toEqual(['plain']);
    const client = await connect();
    expect((await client.reset()).data).toMatchObject({ observation: { text: 'Play plain.' } });
    expect(await client.reset({ scenario: 'talk' })).toMatchObject({ data: { code: 'VALIDATION_ERROR' } });
    const all = await serveOpenEnv({ environment: ['needy', needy('talk', 'judged', 'plain')], ...judging });
    expect(all.server.scenarios).toEqual(['judged', 'plain']);
    const refused = await (await all.connect()).reset({ scenario: 'talk' });
    expect(refused).toMatchObject({ data: { message: expect.stringContaining('talk has a simulated user') } });
  });

  it('keeps a server from starting where there is no other, or where it was named', async () => {
    const environments = new Map([['needy', needy('talk', 'judged')]]);
    await expect(serveOrs({ environments })).rejects.toThrow(/talk has a simulated user.*judged: set models\.judge/s);
    const environment = ['needy', needy('talk', 'judged', 'plain')] as const;
    await expect(serveOpenEnv({ environment, scenario: 'talk' })).rejects.toThrow('talk has a simulated user');
    await expect(serveOpenEnv({ environment, scenario: 'judged' })).rejects.toThrow('judged: set models.judge');
  });
});
