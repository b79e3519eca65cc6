import { describe, expect, it } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import { modelListSchema } from '../../../src/contract/service/run.ts';
import type { ReferenceContext } from '../../../src/models/gateway/chat-model.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { modelConfigFromEnvironment } from '../../../src/models/gateway/model-config.ts';
import { fakeTiming, json, type Play, says, startGateway } from '../../gateway.ts';
import { toRequest } from './gateway-model.ts';

const context: ReferenceContext = {
  seed: 1,
  scenario: 'x',
  answerSchema: () => null,
  solution: () => Promise.reject(new Error('none')),
};
const REFERENCES = [
  'proctor/oracle',
  'proctor/noop',
  'proctor/random',
  'proctor/novice',
  'proctor/echo',
  'proctor/forger',
];
const unaborted = () => new AbortController().signal;

describe('models', () => {
  it('without a gateway are the reference models alone, and the message says what to set', () => {
    const models = createModels({});
    expect(() => models.check('proctor/noop')).not.toThrow();
    expect(() => models.check('gpt-x')).toThrow(
      expect.objectContaining({
        code: 'model_not_found',
        param: 'model',
        message: expect.stringMatching(/"gpt-x".*PROCTOR_GATEWAY_URL/),
      }),
    );
    expect(() => models.check('proctor/nope')).toThrow(expect.objectContaining({ code: 'model_not_found' }));
  });

  it('that cannot be used fail a run at the boundary of the model', () => {
    expect(() => createModels({}).create('gpt-x', context)).toThrow(BoundaryError);
    expect(() => createModels({ gatewayUrl: 'http://127.0.0.1:1/v1' }).create('proctor/nope', context)).toThrow(
      expect.objectContaining({ boundary: 'model', code: 'model_not_found' }),
    );
  });

  it('of any other name are asked of the gateway', async () => {
    const { url, requests } = await startGateway(says('hi'));
    const models = createModels({ gatewayUrl: url, gatewayApiKey: 'key-one' });
    models.check('any/name:at-all');
    const response = await models.create('any/name:at-all', context).respond(toRequest());
    expect(response.message.content).toBe('hi');
    expect(requests[0]).toMatchObject({
      headers: { authorization: 'Bearer key-one' },
      body: { model: 'any/name:at-all' },
    });
  });

  it('go to the first gateway whose pattern matches, each with its own key', async () => {
    const [first, second, rest] = [
      await startGateway(says('1')),
      await startGateway(says('2')),
      await startGateway(says('rest')),
    ];
    const models = createModels({
      gateways: [
        { pattern: 'a.b/*', baseUrl: first.url, apiKey: 'key-one' },
        { pattern: '*/small', baseUrl: second.url, apiKey: 'key-two' },
      ],
      gatewayUrl: rest.url,
    });
    const answers = [];
    for (const name of ['a.b/small', 'c/small', 'axb/x']) {
      answers.push((await models.create(name, context).respond(toRequest())).message.content);
    }
    expect(answers).toEqual(['1', '2', 'rest']);
    expect(second.requests[0]?.headers.authorization).toBe('Bearer key-two');
    expect(rest.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('that no pattern matches are not found where there is no other gateway', () => {
    const models = createModels({ gateways: [{ pattern: 'a/*', baseUrl: 'http://127.0.0.1:1/v1' }] });
    expect(() => models.check('a/x')).not.toThrow();
    expect(() => models.check('b/x')).toThrow(expect.objectContaining({ code: 'model_not_found' }));
  });

  it('of a gateway never tell its key', async () => {
    const { url } = await startGateway(json(401, { error: { message: 'Wrong key: my-own-key' } }));
    const model = createModels({ gatewayUrl: url, gatewayApiKey: 'my-own-key' }).create('m', context);
    const error = await model.respond(toRequest()).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('Wrong key: [key]');
  });

  it.each(['localhost:8080/v1', 'ftp://host/v1', 'not a url', ''])('are refused with a gateway at %j', (gatewayUrl) => {
    expect(() => createModels({ gatewayUrl })).toThrow(/PROCTOR_GATEWAY_URL.*http/);
  });
});

describe('the list of models', () => {
  const listing = json(200, {
    object: 'list',
    data: [{ id: 'm-1', object: 'model', created: 12, owned_by: 'maker' }, { id: 'm-2' }, { nonsense: true }],
  });

  it("has the gateway's and the reference models, and is kept for a minute", async () => {
    const { url, requests } = await startGateway(listing);
    let now = 0;
    const models = createModels({ gatewayUrl: url, timing: { ...fakeTiming(), now: () => now } });
    const list = await models.list(unaborted());
    expect(modelListSchema.parse(list).data.slice(REFERENCES.length)).toEqual([
      { id: 'm-1', object: 'model', created: 12, owned_by: 'maker' },
      { id: 'm-2', object: 'model', created: 0, owned_by: 'gateway' },
    ]);
    expect(list.data.slice(0, REFERENCES.length).map(({ id }) => id)).toEqual(REFERENCES);
    expect(requests[0]?.path).toBe('/v1/models');
    now = 59_999;
    expect(await models.list(unaborted())).toEqual(list);
    expect(requests).toHaveLength(1);
    now = 60_000;
    await models.list(unaborted());
    expect(requests).toHaveLength(2);
  });

  it.each<[string, Play]>([
    ['answers an error', json(500, { error: { message: 'down' } })],
    ['answers nonsense', json(200, { hello: 'world' })],
    ['hangs up', (response) => response.socket?.resetAndDestroy()],
  ])('is that of the reference models where the gateway %s, and it is asked again', async (_, play) => {
    const { url, requests } = await startGateway(play, listing);
    const models = createModels({ gatewayUrl: url });
    expect((await models.list(unaborted())).data.map(({ id }) => id)).toEqual(REFERENCES);
    expect(requests).toHaveLength(1);
    expect((await models.list(unaborted())).data).toHaveLength(REFERENCES.length + 2);
  });

  it('is that of the reference models where there is no gateway, or a client that does not list', async () => {
    const client = { chat: { completions: { create: async () => ({}) } } };
    for (const models of [createModels({}), createModels({ client })]) {
      expect((await models.list(unaborted())).data.map(({ id }) => id)).toEqual(REFERENCES);
    }
  });

  it('of several gateways has what each is asked for, each name once', async () => {
    const [first, rest] = [await startGateway(listing), await startGateway(listing)];
    const models = createModels({ gateways: [{ pattern: '*-1', baseUrl: first.url }], gatewayUrl: rest.url });
    const ids = (await models.list(unaborted())).data.map(({ id }) => id);
    expect(ids).toEqual([...REFERENCES, 'm-1', 'm-2']);
  });

  it('rejects with the reason of an aborted signal', async () => {
    const { url, asked } = await startGateway(() => {});
    const controller = new AbortController();
    const list = createModels({ gatewayUrl: url }).list(controller.signal);
    const rejection = expect(list).rejects.toThrow('gone');
    await asked;
    controller.abort(new Error('gone'));
    await rejection;
  });
});

describe('the gateway of the environment variables', () => {
  it.each<[string, Record<string, string>, object]>([
    ['is none', {}, {}],
    ['is none where they are blank', { PROCTOR_GATEWAY_URL: ' ', OPENAI_API_KEY: '' }, {}],
    [
      'is the one of Proctor',
      {
        PROCTOR_GATEWAY_URL: 'http://a/v1',
        PROCTOR_GATEWAY_API_KEY: ' k1\n',
        OPENAI_BASE_URL: 'http://b',
        OPENAI_API_KEY: 'k2',
      },
      { gatewayUrl: 'http://a/v1', gatewayApiKey: 'k1' },
    ],
    [
      "is OpenAI's own variables where those are not set",
      { OPENAI_BASE_URL: 'http://b', OPENAI_API_KEY: 'k2' },
      { gatewayUrl: 'http://b', gatewayApiKey: 'k2' },
    ],
    [
      'has OpenAI’s key where it has none of its own',
      { PROCTOR_GATEWAY_URL: 'http://a/v1', OPENAI_API_KEY: 'k2' },
      { gatewayUrl: 'http://a/v1', gatewayApiKey: 'k2' },
    ],
    ['may have no key', { PROCTOR_GATEWAY_URL: 'http://a/v1' }, { gatewayUrl: 'http://a/v1' }],
    [
      "is OpenAI's own address where there is its key alone",
      { OPENAI_API_KEY: 'k2' },
      { gatewayUrl: 'https://api.openai.com/v1', gatewayApiKey: 'k2' },
    ],
    ['is none where there is only a key for one', { PROCTOR_GATEWAY_API_KEY: 'k1' }, {}],
  ])('%s', (_, env, config) => {
    expect(modelConfigFromEnvironment(env)).toEqual(config);
  });
});
