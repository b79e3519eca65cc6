import { describe, expect, it } from 'vitest';
import { scenarioListSchema } from '../../../src/contract/scenario.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { connect, httpTransport, serveHttp } from '../../environment/server/clients.ts';
import { fakeTiming, json, type Play } from '../../gateway.ts';
import type { Reply } from '../../support/http/http-server.ts';
import createDesk from './fixtures/desk.ts';
import { serve } from './server.ts';

const REFERENCES = [
  'proctor/oracle',
  'proctor/noop',
  'proctor/random',
  'proctor/novice',
  'proctor/echo',
  'proctor/forger',
];
const idsOf = ({ json: body }: Reply) => (body as { data: readonly { id: string }[] }).data.map(({ id }) => id);

describe('GET /scenarios', () => {
  it('is what svc://scenarios of the environment says', async () => {
    const environment = await serveHttp(createDesk);
    const client = await connect(httpTransport(environment));
    const { contents } = await client.readResource({ uri: 'svc://scenarios' });
    const [content] = contents;
    const own = JSON.parse(content !== undefined && 'text' in content ? content.text : '');
    const server = await serve({ environments: new Map([['desk', { kind: 'url', url: environment }]]) });
    const { status, json: body } = await server.get('/scenarios');
    expect(status).toBe(200);
    expect(
      scenarioListSchema
        .strict()
        .parse(body)
        .scenarios.map(({ short_name }) => short_name),
    ).toEqual(['keep', 'form', 'broken_setup', 'broken_evaluation', 'slow_evaluation']);
    expect(body).toEqual(own);
  });

  it('has those of every environment, and answers HEAD too', async () => {
    const server = await serve();
    const { scenarios } = scenarioListSchema.parse((await server.get('/scenarios')).json);
    const names = scenarios.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['counter:count_to', 'counter:slow_count', 'desk:keep']));
    const head = await fetch(`${server.url}/scenarios`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });
});

describe('GET /v1/models', () => {
  const listing = json(200, { object: 'list', data: [{ id: 'm-1' }, { id: 'test-model' }] });

  it("is an OpenAI list of the gateway's models and the reference models, kept for a minute", async () => {
    let now = 0;
    const gateway = await serve({ plays: [listing] });
    const models = createModels({ gatewayUrl: gateway.gateway.url, timing: { ...fakeTiming(), now: () => now } });
    const server = await serve({ models });
    const listed = await server.get('/v1/models');
    expect(listed.json).toMatchObject({
      object: 'list',
      data: expect.arrayContaining([{ id: 'm-1', object: 'model', created: 0, owned_by: 'gateway' }]),
    });
    expect([...idsOf(listed)].sort()).toEqual(['m-1', 'test-model', ...REFERENCES].sort());
    now = 59_999;
    await server.get('/v1/models');
    expect(gateway.gateway.requests.map(({ path }) => path)).toEqual(['/v1/models']);
    now = 60_000;
    await server.get('/v1/models');
    expect(gateway.gateway.requests).toHaveLength(2);
  });

  it.each<readonly [what: string, play: Play]>([
    ['is down', json(500, { error: { message: 'down' } })],
    ['has no list', json(404, { error: { message: 'no such path' } })],
    ['hangs up', (response) => response.socket?.resetAndDestroy()],
  ])('of a gateway that %s has the model of the server and the reference models', async (_what, play) => {
    const server = await serve({ plays: [play] });
    expect([...idsOf(await server.get('/v1/models'))].sort()).toEqual(['test-model', ...REFERENCES].sort());
  });
});
