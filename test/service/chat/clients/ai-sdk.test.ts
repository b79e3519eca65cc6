import { describe, expect, it } from 'vitest';
import type { Svc } from '../../../../src/contract/session.ts';
import { json, says, USAGE } from '../../../gateway.ts';
import { APICallError, createOpenAICompatible, generateText, streamText } from '../../../referees/clients/ai-sdk.mjs';
import { counting, finishedOf, serve, type TestServerOptions } from '../server.ts';
import { CUT_SHORT, collect, EXAM, FIRST_TEXT, GO, ONE_MORE, SECOND_TEXT, thrownBy } from './exam.ts';

/** Takes `svc` out of replies and of chunks, as the documentation says. */
const metadataExtractor = {
  extractMetadata: async ({ parsedBody }: { readonly parsedBody: unknown }) => ({
    proctor: { svc: svcIn(parsedBody) },
  }),
  createStreamExtractor() {
    let svc: unknown;
    return {
      processChunk(chunk: unknown) {
        svc = svcIn(chunk) ?? svc;
      },
      buildMetadata: () => ({ proctor: { svc } }),
    };
  },
};

const svcIn = (body: unknown): Svc => (body as { readonly svc: Svc }).svc;

async function open(options: TestServerOptions = { plays: EXAM }, includeUsage = true) {
  const server = await serve(options);
  const provider = createOpenAICompatible({
    name: 'proctor',
    baseURL: `${server.url}/v1`,
    includeUsage,
    metadataExtractor,
  });
  const finish = async (id: string) => finishedOf(await server.post(`/v1/sessions/${id}/finish`));
  return { server, finish, model: provider('test-model') };
}

const START = { providerOptions: { proctor: counting(3) } };

describe('the AI SDK', () => {
  it('generateText: starts by provider options, reads svc in the body, in the headers and by an extractor', async () => {
    const { finish, model } = await open();
    const first = await generateText({ model, prompt: GO, ...START });
    expect(first).toMatchObject({ text: FIRST_TEXT, finishReason: 'stop' });
    expect(first.usage).toMatchObject({ inputTokens: USAGE.prompt_tokens, outputTokens: USAGE.completion_tokens });
    const svc = svcIn(first.response.body);
    expect(svc).toMatchObject({ scenario: 'count_to', status: 'active', steps: 2 });
    expect(first.response.headers).toMatchObject({
      'x-svc-session-id': svc.session_id,
      'x-svc-trace-id': svc.trace_id,
    });
    expect(first.providerMetadata).toMatchObject({ proctor: { svc } });

    const headers = { 'X-SVC-Session-Id': svc.session_id };
    const second = await generateText({ model, prompt: ONE_MORE, headers });
    expect(second.text).toBe(SECOND_TEXT);
    expect(svcIn(second.response.body)).toEqual({ ...svc, steps: 4 });
    expect(await finish(svc.session_id)).toMatchObject({ reward: 1, answer: SECOND_TEXT });
  });

  it.each([
    { usage: 'with usage', includeUsage: true, inputTokens: USAGE.prompt_tokens },
    { usage: 'without usage', includeUsage: false, inputTokens: undefined },
  ])('streamText: the same text, and svc by an extractor and in the headers: $usage', async (asked) => {
    const { finish, model } = await open({ plays: EXAM }, asked.includeUsage);
    const first = streamText({ model, system: 'Be brief.', prompt: GO, ...START });
    expect((await collect(first.textStream)).join('')).toBe(FIRST_TEXT);
    expect(await first.finishReason).toBe('stop');
    expect((await first.usage).inputTokens).toBe(asked.inputTokens);
    const metadata = (await first.providerMetadata) as { readonly proctor: { readonly svc: Svc } };
    const { svc } = metadata.proctor;
    expect(svc).toMatchObject({ scenario: 'count_to', status: 'active', steps: 2 });
    expect((await first.response).headers).toMatchObject({ 'x-svc-session-id': svc.session_id });

    const messages = [
      { role: 'user', content: GO },
      { role: 'assistant', content: FIRST_TEXT },
      { role: 'user', content: ONE_MORE },
    ];
    const follow = { proctor: { thread_id: svc.session_id } };
    const second = streamText({ model, messages, providerOptions: follow });
    expect((await collect(second.textStream)).join('')).toBe(SECOND_TEXT);
    expect(await finish(svc.session_id)).toMatchObject({ reward: 1, answer: SECOND_TEXT });
  });

  it('a refusal of ours is an APICallError with our words, which is not tried again', async () => {
    const { model } = await open();
    const bad = { proctor: { scenario: 'count_to', scenario_args: { target: 'three' } } };
    const error = await thrownBy(generateText({ model, prompt: GO, providerOptions: bad }));
    expect(error).toBeInstanceOf(APICallError);
    expect(error).toMatchObject({
      statusCode: 400,
      isRetryable: false,
      data: { error: { code: 'invalid_scenario_args', param: 'scenario_args.target' } },
    });
    expect((error as Error).message).toContain('three');
  });

  it('a session that is finished is an APICallError too', async () => {
    const { finish, model } = await open({ plays: [says('At 0.')] });
    const first = await generateText({ model, prompt: GO, ...START });
    const { session_id } = svcIn(first.response.body);
    await finish(session_id);
    const headers = { 'X-SVC-Session-Id': session_id };
    const error = await thrownBy(generateText({ model, prompt: ONE_MORE, headers, maxRetries: 0 }));
    expect(error).toMatchObject({ statusCode: 409, data: { error: { code: 'session_finished' } } });
  });

  it('a failure inside a stream is an error part, and one before it an APICallError', async () => {
    const { model } = await open({ plays: [CUT_SHORT, json(400, { error: { message: 'The model is ill.' } })] });
    const quiet = { onError: () => {}, maxRetries: 0 };
    const running = streamText({ model, prompt: GO, ...quiet, ...START });
    const parts = await collect(running.fullStream);
    expect(parts.filter(({ type }) => type === 'error')).toHaveLength(1);
    const early = await collect(streamText({ model, prompt: GO, ...quiet, ...START }).fullStream);
    expect(early.find(({ type }) => type === 'error')?.error).toMatchObject({
      statusCode: 502,
      data: { error: { code: 'model_failed' } },
    });
  });
});
