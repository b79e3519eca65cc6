import { EnvironmentServer } from 'proctor';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EnvironmentHost } from '../../../src/environment/server/environment-host.ts';
import { Sessions } from '../../../src/environment/server/http/sessions.ts';
import type { ServeOptions } from '../../../src/environment/server/serve.ts';
import { until } from '../../until.ts';
import { connect, httpTransport, serveHttp, textOf } from './clients.ts';
import { modern, send } from './raw-http.ts';

const KEY = 'k'.repeat(32);
const AS_HARNESS = { 'svc/audience': 'harness', 'svc/harness_key': KEY };
const CAPABILITIES = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
const NAME = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const answer = (name: string) => ({ inputResponses: { who: { action: 'accept', content: { name } } } });
const INVALID = { code: -32_602, data: { reason: 'invalid_request_state' } };

/** A scenario whose setup asks who plays. What becomes of the instances is written down in `events`. */
function createAsking(events: string[] = []): () => EnvironmentServer {
  let count = 0;
  return () => {
    const env = new EnvironmentServer({ name: 'asking' });
    let player = 'nobody';
    env.initialize(() => {
      count += 1;
      const number = count;
      events.push(`opened ${number}`);
      env.close(() => void events.push(`closed ${number}`));
    });
    env.tool('player', {}, () => player);
    env.scenario('named', {}, async function* (_args, { elicit }) {
      const { content } = await elicit({ key: 'who', message: 'Who?', requestedSchema: NAME });
      if (content?.name === 'Nobody') throw new Error('nobody cannot play');
      player = String(content?.name);
      yield `Be ${player}.`;
      return 1;
    });
    env.scenario('twice', {}, async function* (_args, { elicit }) {
      const first = await elicit({ key: 'who', message: 'Who?', requestedSchema: NAME });
      const second = await elicit({ key: 'whom', message: 'Whom?', requestedSchema: NAME });
      player = `${first.content?.name} and ${second.content?.name}`;
      yield 'Go.';
      return 1;
    });
    env.scenario('silent', {}, async function* () {
      yield 'Go.';
      return 1;
    });
    return env;
  };
}

interface Answer {
  readonly status: number;
  readonly result?: Record<string, unknown> & { readonly _meta?: Record<string, unknown> };
  readonly error?: { readonly code: number; readonly message: string };
}

async function open(events: string[] = [], options: ServeOptions = {}) {
  const url = await serveHttp(createAsking(events), { harnessKey: KEY, ...options });
  const call = async (name: string, params: object = {}, meta: object = AS_HARNESS): Promise<Answer> => {
    const request = modern('tools/call', { name, ...params }, { ...CAPABILITIES, ...meta });
    const { status, text } = await send(url, request);
    const last = text.match(/^data: (.*)$/gm)?.at(-1);
    return { status, ...JSON.parse(last === undefined ? text : last.slice(6)) };
  };
  const setup = (name: string, more: object = {}, meta?: object) =>
    call('setup', { arguments: { name, arguments: {} }, ...more }, meta);
  return { url, call, setup };
}

const handleOf = ({ result }: Answer) => ({ 'svc/session_id': result?._meta?.['svc/session_id'] });
const stateOf = ({ result }: Answer) => ({ requestState: result?.requestState });

describe('a setup of 2026-07-28 over HTTP that names no session and asks its client', () => {
  it('goes on in the session that it has opened', async () => {
    const events: string[] = [];
    const { call, setup } = await open(events);
    const asked = await setup('named');
    expect(asked.result).toMatchObject({ resultType: 'input_required' });
    const done = await setup('named', { ...stateOf(asked), ...answer('Ada') });
    expect(done.result).toMatchObject({ structuredContent: { scenario: 'named', prompt: [{ content: 'Be Ada.' }] } });
    expect(handleOf(done)).toEqual(handleOf(asked));
    const played = await call('player', {}, { ...AS_HARNESS, ...handleOf(done) });
    expect(played.result).toMatchObject({ content: [{ text: 'Ada' }] });
    expect(events).toEqual(['opened 1']);
  });

  it('may ask several times', async () => {
    const events: string[] = [];
    const { call, setup } = await open(events);
    const first = await setup('twice');
    const second = await setup('twice', { ...stateOf(first), ...answer('Ada') });
    expect(second.result).toMatchObject({ resultType: 'input_required', inputRequests: { whom: {} } });
    expect((await setup('twice', { ...stateOf(first), ...answer('Ada') })).error).toMatchObject(INVALID);
    const inputResponses = { whom: { action: 'accept', content: { name: 'Bob' } } };
    const done = await setup('twice', { ...stateOf(second), inputResponses });
    const played = await call('player', {}, { ...AS_HARNESS, ...handleOf(done) });
    expect(played.result).toMatchObject({ content: [{ text: 'Ada and Bob' }] });
    expect(events).toEqual(['opened 1']);
  });

  it('serves the client of the SDK, which answers by itself', async () => {
    const { url } = await open();
    const client = await connect(httpTransport(url), {
      mode: 'modern',
      meta: AS_HARNESS,
      capabilities: { elicitation: {} },
    });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
    const done = await client.callTool({ name: 'setup', arguments: { name: 'named', arguments: {} } });
    expect(done.structuredContent).toMatchObject({ prompt: [{ content: 'Be Ada.' }] });
    const _meta = { 'svc/session_id': done._meta?.['svc/session_id'] };
    expect(textOf(await client.callTool({ name: 'player', _meta }))).toBe('Ada');
  });

  it('is one of several that wait, each with a session of its own', async () => {
    const { call, setup } = await open();
    const [one, other] = [await setup('named'), await setup('named')];
    expect(handleOf(one)).not.toEqual(handleOf(other));
    const done = [
      await setup('named', { ...stateOf(other), ...answer('Bob') }),
      await setup('named', { ...stateOf(one), ...answer('Ada') }),
    ];
    const players = await Promise.all(done.map((each) => call('player', {}, { ...AS_HARNESS, ...handleOf(each) })));
    expect(players.map(({ result }) => result?.content)).toEqual([
      [{ type: 'text', text: 'Bob' }],
      [{ type: 'text', text: 'Ada' }],
    ]);
  });

  it('takes no state that is forged, of something else, or used, and opens no session for it', async () => {
    const events: string[] = [];
    const { setup } = await open(events);
    const asked = await setup('named');
    const state = String(asked.result?.requestState);
    for (const requestState of [`${state}x`, state.split('.')[0], '', 'x.y', 5, null, { state }]) {
      const refused = await setup('named', { requestState, ...answer('Eve') });
      expect(refused.error).toMatchObject(INVALID);
      expect(refused.status).toBe(400);
    }
    expect((await setup('silent', { requestState: state, ...answer('Eve') })).error).toMatchObject(INVALID);
    // What was refused has cost the right one nothing.
    const done = await setup('named', { requestState: state, ...answer('Ada') });
    expect(done.result).toMatchObject({ structuredContent: { scenario: 'named' } });
    const used = await setup('named', { requestState: state, ...answer('Eve') });
    expect(used).toMatchObject({ status: 400, error: INVALID });
    expect(events).toEqual(['opened 1']);
  });

  it('is an unknown tool to an agent who knows its state', async () => {
    const events: string[] = [];
    const { call, setup } = await open(events);
    const asked = await setup('named');
    const more = { arguments: { name: 'named', arguments: {} }, ...stateOf(asked), ...answer('Eve') };
    for (const meta of [{}, { 'svc/audience': 'harness' }, { ...AS_HARNESS, 'svc/audience': 'agent' }]) {
      const hidden = await call('setup', more, meta);
      const unknown = await call('nothing', more, meta);
      expect(hidden.status).toBe(unknown.status);
      expect(hidden.error).toEqual({ code: -32_602, message: 'Unknown tool: setup' });
      expect(unknown.error).toEqual({ code: -32_602, message: 'Unknown tool: nothing' });
    }
    const done = await setup('named', { ...stateOf(asked), ...answer('Ada') });
    expect(done.result).toMatchObject({ structuredContent: { prompt: [{ content: 'Be Ada.' }] } });
    expect(events).toEqual(['opened 1']);
  });

  it('that fails in the end leaves no session', async () => {
    const events: string[] = [];
    const { call, setup } = await open(events);
    const asked = await setup('named');
    const failed = await setup('named', { ...stateOf(asked), ...answer('Nobody') });
    expect(failed.result).toMatchObject({ isError: true });
    await until(() => events.includes('closed 1'));
    expect((await call('player', {}, { ...AS_HARNESS, ...handleOf(asked) })).status).toBe(404);
  });

  it('may name its session in the retry', async () => {
    const { setup } = await open();
    const asked = await setup('named');
    const named = { ...AS_HARNESS, ...handleOf(asked) };
    const done = await setup('named', { ...stateOf(asked), ...answer('Ada') }, named);
    expect(done.result).toMatchObject({ structuredContent: { prompt: [{ content: 'Be Ada.' }] } });
    expect((await setup('named', { ...stateOf(asked), ...answer('Eve') })).error).toMatchObject(INVALID);
    expect((await setup('silent', {}, named)).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('The scenario named is active') }],
    });
  });

  it('and is abandoned ends with its session, when that has been idle for too long', async () => {
    let now = 0;
    const events: string[] = [];
    const { setup } = await open(events, { idleTimeoutMs: 20, now: () => now });
    const asked = await setup('named');
    expect(events).toEqual(['opened 1']);
    now = 21;
    await until(() => events.includes('closed 1'));
    const late = await setup('named', { ...stateOf(asked), ...answer('Ada') });
    expect(late.error).toMatchObject(INVALID);
    expect(events).toEqual(['opened 1', 'closed 1']);
  });
});

it('a session that waits for a retry is found by its own caller alone, until it waits no more or has ended', async () => {
  const authority = { harnessKey: KEY, isPeerTrusted: false };
  const host = new EnvironmentHost(createAsking(), { authority, report: () => {} });
  const sessions = new Sessions(host, { maxSessions: 10, idleTimeoutMs: 60_000 });
  onTestFinished(() => sessions.stop());
  onTestFinished(() => host.close(1_000));
  const { session } = sessions.open('modern', 'ann', true);
  const waiting = (caller: string) => sessions.waitingFor('state', caller)?.session.id;
  sessions.setWaiting(session, 'state');
  expect([waiting('ann'), waiting('bob')]).toEqual([session.id, undefined]);
  sessions.setWaiting(session, undefined);
  expect(waiting('ann')).toBeUndefined();
  sessions.setWaiting(session, 'state');
  await session.close();
  sessions.setWaiting(session, 'state');
  expect(waiting('ann')).toBeUndefined();
});
