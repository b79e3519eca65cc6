import { describe, expect, it } from 'vitest';
import type { Svc } from '../../../../src/contract/session.ts';
import { says, USAGE } from '../../../gateway.ts';
import { AIMessage, ChatOpenAI, HumanMessage } from '../../../referees/clients/langchain.mjs';
import { counting, finishedOf, serve, type TestServerOptions } from '../server.ts';
import { CUT_SHORT, collect, EXAM, FIRST_TEXT, GO, ONE_MORE, SECOND_TEXT, thrownBy } from './exam.ts';

async function open(options: TestServerOptions = { plays: EXAM }) {
  const server = await serve(options);
  const settings = {
    model: 'test-model',
    apiKey: 'none',
    maxRetries: 0,
    __includeRawResponse: true,
    configuration: { baseURL: `${server.url}/v1` },
  };
  const modelWith = (modelKwargs: object) => new ChatOpenAI({ ...settings, modelKwargs });
  const finish = async (id: string) => finishedOf(await server.post(`/v1/sessions/${id}/finish`));
  return { server, finish, modelWith, model: modelWith(counting(3)) };
}

interface Raw {
  readonly __raw_response?: { readonly svc?: Partial<Svc> };
}

/** What LangChain keeps of a reply that it does not know, because it was asked to. */
const svcOf = ({ additional_kwargs }: AIMessage): Partial<Svc> | undefined =>
  (additional_kwargs as Raw).__raw_response?.svc;

const byHeader = (id: string | undefined) => ({ options: { headers: { 'X-SVC-Session-Id': id ?? '' } } });

describe('LangChain', () => {
  it('invoke: starts by fixed extra fields, goes on by a header with its history, and reads svc', async () => {
    const { finish, model } = await open();
    const first = await model.invoke(GO);
    expect(first.content).toBe(FIRST_TEXT);
    expect(first.usage_metadata).toMatchObject({ input_tokens: USAGE.prompt_tokens });
    const svc = svcOf(first);
    expect(svc).toMatchObject({ scenario: 'count_to', status: 'active', steps: 2 });

    const history = [new HumanMessage(GO), new AIMessage(FIRST_TEXT), new HumanMessage(ONE_MORE)];
    const second = await model.invoke(history, byHeader(svc?.session_id));
    expect(second.content).toBe(SECOND_TEXT);
    expect(svcOf(second)).toEqual({ ...svc, steps: 4 });
    expect(await finish(String(svc?.session_id))).toMatchObject({ reward: 1, answer: SECOND_TEXT });
  });

  it('stream: the same text, the session on every chunk, and all of svc on the one that finishes', async () => {
    const { finish, model, modelWith } = await open();
    const chunks = await collect(await model.stream(GO));
    expect(chunks.map(({ content }) => content).join('')).toBe(FIRST_TEXT);
    const seen = chunks.flatMap((chunk) => svcOf(chunk) ?? []);
    const svc = seen.find(({ trace_id }) => trace_id !== undefined);
    expect(svc).toMatchObject({ scenario: 'count_to', status: 'active', steps: 2 });
    expect(new Set(seen.map(({ session_id }) => session_id))).toEqual(new Set([svc?.session_id]));

    const next = modelWith({ thread_id: svc?.session_id });
    const rest = await collect(await next.stream([new HumanMessage(ONE_MORE)]));
    expect(rest.map(({ content }) => content).join('')).toBe(SECOND_TEXT);
    expect(await finish(String(svc?.session_id))).toMatchObject({ reward: 1, answer: SECOND_TEXT });
  });

  it('an error has our status, code and words', async () => {
    const { modelWith, model, finish } = await open({ plays: [says('At 0.')] });
    const bad = modelWith({ scenario: 'count_to', scenario_args: { target: 'three' } });
    const error = await thrownBy(bad.invoke(GO));
    expect(error).toMatchObject({ status: 400, code: 'invalid_scenario_args', param: 'scenario_args.target' });
    expect((error as Error).message).toContain('three');
    const id = svcOf(await model.invoke(GO))?.session_id;
    await finish(String(id));
    const late = await thrownBy(model.invoke([new HumanMessage(ONE_MORE)], byHeader(id)));
    expect(late).toMatchObject({ status: 409, code: 'session_finished' });
  });

  it('a failure inside a stream is thrown by the iterator', async () => {
    const { model } = await open({ plays: [CUT_SHORT] });
    const error = await thrownBy((async () => collect(await model.stream(GO)))());
    expect(error).toMatchObject({ code: 'model_failed' });
  });
});
