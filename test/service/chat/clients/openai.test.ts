import OpenAI, {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
} from 'openai';
import { describe, expect, it } from 'vitest';
import { type FinishedSession, type Svc, svcSchema } from '../../../../src/contract/session.ts';
import { guardedByKey } from '../../../../src/service/chat/serve-scenarios.ts';
import { json, says, USAGE } from '../../../gateway.ts';
import { until } from '../../../until.ts';
import { counting, serve, type TestServerOptions } from '../server.ts';
import { CUT_SHORT, collect, EXAM, FALLS_SILENT, FIRST_ANSWER, FIRST_TEXT, SECOND_TEXT, thrownBy } from './exam.ts';

const GO = [{ role: 'user', content: 'Go.' }] as const;
const ONE_MORE = [{ role: 'user', content: 'One more.' }] as const;
const MODEL = 'test-model';

async function open(options: TestServerOptions = { plays: EXAM }) {
  const server = await serve(options);
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', logLevel: 'off' });
  return { server, client, completions: client.chat.completions };
}

/** What the client's types do not know, and its objects keep. */
const svcOf = (object: object): Svc => svcSchema.parse((object as { svc?: unknown }).svc);

function finish(client: OpenAI, { session_id }: Pick<Svc, 'session_id'>, body?: object): Promise<FinishedSession> {
  return client.post<FinishedSession>(`/sessions/${session_id}/finish`, body === undefined ? {} : { body });
}

describe('openai: a plain session', () => {
  it('starts by extra fields, goes on by a header, and finishes', async () => {
    const { client, completions } = await open();
    const first = await completions.create({ model: MODEL, messages: [...GO], ...counting(3) });
    expect(first.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: FIRST_TEXT, refusal: null },
    });
    expect(first.usage).toMatchObject(USAGE);
    const svc = svcOf(first);
    const headers = { 'X-SVC-Session-Id': svc.session_id };
    const second = await completions.create({ model: MODEL, messages: [...ONE_MORE] }, { headers });
    expect(second.choices[0]?.message.content).toBe(SECOND_TEXT);
    expect(svcOf(second)).toEqual({ ...svc, steps: 4 });
    expect(await finish(client, svc)).toMatchObject({ reward: 1, answer: SECOND_TEXT, status: 'finished' });
    expect(await finish(client, svc)).toMatchObject({ reward: 1, answer: SECOND_TEXT, status: 'finished' });
  });

  it.each(['thread_id', 'conversation_id'])('goes on by %s, and finishes with an answer of its own', async (name) => {
    const { client, completions } = await open();
    const svc = svcOf(await completions.create({ model: MODEL, messages: [...GO], ...counting(3) }));
    const follow = { [name]: svc.session_id };
    const second = await completions.create({ model: MODEL, messages: [...ONE_MORE], ...follow });
    expect(svcOf(second)).toMatchObject({ session_id: svc.session_id, steps: 4 });
    expect(await finish(client, svc, { answer: 'Three.' })).toMatchObject({ reward: 1, answer: 'Three.' });
  });

  it('goes on for a client that always sends the same extra fields and its whole history', async () => {
    const { completions } = await open();
    const fixed = { model: MODEL, ...counting(3) };
    const first = await completions.create({ ...fixed, messages: [...GO] });
    const history = [...GO, { role: 'assistant', content: FIRST_TEXT } as const, ...ONE_MORE];
    const headers = { 'X-SVC-Session-Id': svcOf(first).session_id };
    const second = await completions.create({ ...fixed, messages: history }, { headers });
    expect(svcOf(second)).toMatchObject({ session_id: svcOf(first).session_id, steps: 4 });
  });

  it('withResponse: the session and the trace are in the headers, and the request has an id', async () => {
    const { client, completions } = await open();
    const { data, response, request_id } = await completions
      .create({ model: MODEL, messages: [...GO], ...counting(3) })
      .withResponse();
    const svc = svcOf(data);
    expect(response.headers.get('x-svc-session-id')).toBe(svc.session_id);
    expect(response.headers.get('x-svc-trace-id')).toBe(svc.trace_id);
    expect(request_id).toBe(response.headers.get('x-request-id'));
    expect(request_id).toMatch(/./);
    // Of the turn's texts the last one is the answer.
    expect(await finish(client, svc)).toMatchObject({ reward: 0, answer: FIRST_ANSWER });
  });

  it('lists the models', async () => {
    const { client } = await open({
      plays: [json(200, { object: 'list', data: [{ id: 'a-model', object: 'model' }] })],
    });
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(expect.arrayContaining(['a-model', 'proctor/oracle']));
  });
});

describe('openai: a streamed session', () => {
  it('gives the same text, the session on every chunk, and all of svc on the last ones', async () => {
    const { client, completions } = await open();
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    const { data, response } = await completions
      .create({ model: MODEL, messages: [...GO], ...options, ...counting(3) })
      .withResponse();
    const chunks = await collect(data);
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    expect(text).toBe(FIRST_TEXT);
    const ids = new Set(chunks.map((chunk) => (chunk as unknown as { svc: Svc }).svc.session_id));
    expect([...ids]).toEqual([response.headers.get('x-svc-session-id')]);
    expect(chunks.filter((chunk) => chunk.choices[0]?.finish_reason)).toHaveLength(1);
    const [finishing, using] = chunks.slice(-2);
    const svc = svcOf(finishing ?? {});
    expect(svc).toMatchObject({ status: 'active', scenario: 'count_to', steps: 2 });
    expect(svcOf(using ?? {})).toEqual(svc);
    expect(using).toMatchObject({ choices: [], usage: USAGE });

    const follow = { thread_id: svc.session_id };
    const next = await completions.create({ model: MODEL, messages: [...ONE_MORE], stream: true, ...follow });
    const rest = await collect(next);
    expect(rest.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(SECOND_TEXT);
    expect(await finish(client, svc)).toMatchObject({ reward: 1, answer: SECOND_TEXT });
  });

  it('with the .stream() helper: its final object has the text and svc', async () => {
    const { client, completions } = await open();
    const pieces: string[] = [];
    const running = completions.stream({ model: MODEL, messages: [...GO], ...counting(3) });
    running.on('content', (piece) => pieces.push(piece));
    const final = await running.finalChatCompletion();
    expect(final.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: FIRST_TEXT } });
    expect(pieces.join('')).toBe(FIRST_TEXT);
    const svc = svcOf(final);

    const headers = { 'X-SVC-Session-Id': svc.session_id };
    const usage = { stream_options: { include_usage: true } };
    const second = completions.stream({ model: MODEL, messages: [...ONE_MORE], ...usage }, { headers });
    expect(await second.finalContent()).toBe(SECOND_TEXT);
    expect(await second.totalUsage()).toMatchObject({ prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 });
    expect(await finish(client, svc)).toMatchObject({ reward: 1 });
  });

  it('with svc_events: tool calls and their results come as chunks that an unknowing client passes over', async () => {
    const { completions } = await open();
    const wanted = { stream: true as const, stream_options: { svc_events: true } as object };
    const running = await completions.create({ model: MODEL, messages: [...GO], ...wanted, ...counting(3) });
    const chunks = await collect(running);
    const events = chunks.flatMap((chunk) => (chunk as { svc?: { event?: object } }).svc?.event ?? []);
    expect(events).toMatchObject([
      { type: 'tool_call', name: 'increment', arguments: { by: 2 } },
      { type: 'tool_result', name: 'increment', text: '2', is_error: false },
    ]);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(FIRST_TEXT);
  });

  it('that the caller breaks off is free for the next turn', async () => {
    const { server, completions } = await open({ plays: [says('One.'), FALLS_SILENT, says('Three.')] });
    const first = await completions.create({ model: MODEL, messages: [...GO], ...counting(0) });
    const follow = { thread_id: svcOf(first).session_id };
    const running = await completions.create({ model: MODEL, messages: [...ONE_MORE], stream: true, ...follow });
    for await (const chunk of running) if (chunk.choices[0]?.delta.content) break;
    await server.gateway.clientClosed;
    const next = await untilFree(() => completions.create({ model: MODEL, messages: [...ONE_MORE], ...follow }));
    expect(next.choices[0]?.message.content).toBe('Three.');
  });
});

describe('openai: errors are those of the client', () => {
  it('400 is a BadRequestError with code, type, param and the id of the request', async () => {
    const { completions } = await open();
    const bad = { scenario: 'count_to', scenario_args: { target: 'three' } };
    const error = await thrownBy(completions.create({ model: MODEL, messages: [...GO], ...bad }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid_scenario_args',
      type: 'invalid_request_error',
      param: 'scenario_args.target',
      requestID: expect.stringMatching(/./),
    });
    expect(String(error)).toContain('three');
  });

  it('401 is an AuthenticationError', async () => {
    const { completions } = await open(guardedByKey('sesame'));
    const error = await thrownBy(completions.create({ model: MODEL, messages: [...GO], ...counting(3) }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  it('404 is a NotFoundError', async () => {
    const { completions } = await open();
    const unknown = { thread_id: 'sess_0' };
    const error = await thrownBy(completions.create({ model: MODEL, messages: [...GO], ...unknown }));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, code: 'session_not_found' });
  });

  it('409 is a ConflictError, and is not tried again', async () => {
    const { client, completions } = await open({ plays: [says('At 0.')] });
    const first = await completions.create({ model: MODEL, messages: [...GO], ...counting(0) });
    const { session_id } = svcOf(first);
    await finish(client, { session_id });
    let sent = 0;
    const counted = client.withOptions({
      fetch: (input, init) => {
        sent += 1;
        return fetch(input, init);
      },
    });
    const follow = { thread_id: session_id };
    const error = await thrownBy(counted.chat.completions.create({ model: MODEL, messages: [...ONE_MORE], ...follow }));
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ status: 409, code: 'session_finished', type: 'conflict_error' });
    expect(sent).toBe(1);
  });

  it('502 is an InternalServerError that names the failed session in its headers', async () => {
    const { client } = await open({ plays: [json(400, { error: { message: 'The model is ill.' } })] });
    const once = client.withOptions({ maxRetries: 0 });
    const error = await thrownBy(once.chat.completions.create({ model: MODEL, messages: [...GO], ...counting(3) }));
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status: 502, code: 'model_failed', type: 'upstream_error' });
    expect((error as InternalServerError).headers?.get('x-svc-session-id')).toMatch(/^sess_/);
  });

  it('a failure inside a stream is thrown by the iterator and by the helper', async () => {
    const { completions } = await open({ plays: [CUT_SHORT] });
    const running = await completions.create({ model: MODEL, messages: [...GO], stream: true, ...counting(3) });
    const error = await thrownBy(collect(running));
    expect(error).toMatchObject({ code: 'model_failed', type: 'upstream_error' });
    const helper = completions.stream({ model: MODEL, messages: [...GO], ...counting(3) });
    const thrown = await thrownBy(helper.finalChatCompletion());
    expect(thrown).toMatchObject({ code: 'model_failed' });
  });
});

/** A turn that was broken off has ended within a second: until then the session is busy. */
async function untilFree<T>(work: () => PromiseLike<T>): Promise<T> {
  const end = await until(async () => {
    try {
      return { value: await work() };
    } catch (error) {
      return error instanceof ConflictError && error.code === 'session_busy' ? false : { error };
    }
  });
  if ('error' in end) throw end.error;
  return end.value;
}
