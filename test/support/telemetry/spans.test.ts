import { describe, expect, it, vi } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { calls, fakeTiming, type Play, says, startGateway } from '../../gateway.ts';
import { finishedOf, serve, svcOf } from '../../service/chat/server.ts';
import { startService, traceIdOf } from '../../service/runs/service.ts';
import { createObserved, startTracing } from './tracing.ts';

const ATTEMPT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Runs the scenario to its end, through the service, with a gateway that plays this. */
async function play(plays: readonly Play[], body: object = {}) {
  const observed = createObserved();
  const gateway = await startGateway(...plays);
  const service = await startService({
    environments: new Map([['observed', observed.target]]),
    models: createModels({
      gatewayUrl: gateway.url,
      timing: fakeTiming(),
    }),
  });
  const asked = { env_name: 'observed', scenario_name: 'sum', scenario_args: {}, model: 'gpt-test', ...body };
  const traceId = traceIdOf(await service.run(asked));
  const trace = await service.ended(traceId);
  await service.close();
  return { traceId, trace, observed, gateway };
}

describe('the spans of a run', () => {
  it('are one tree in the trace of the run, named as the conventions have it', async () => {
    const tracing = await startTracing();
    const { traceId } = await play([calls(['add', { a: 1, b: 2 }], ['broken', {}]), says('3')], {
      sampling: { temperature: 0.5, max_tokens: 100 },
      seed: 7,
    });
    await tracing.flush();
    expect(tracing.tree(traceId)).toEqual([
      'invoke_agent observed:sum',
      '  initialize',
      '  tools/call setup',
      '  tools/list',
      '  chat gpt-test',
      '  execute_tool add',
      '  execute_tool broken',
      '  chat gpt-test',
      '  tools/call evaluate',
    ]);
    expect(tracing.spans.every((span) => span.traceId === traceId)).toBe(true);

    expect(tracing.span('invoke_agent observed:sum')).toMatchObject({
      parentSpanId: undefined,
      kind: 'INTERNAL',
      status: { code: 0 },
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': 'openai',
        'gen_ai.agent.name': 'observed:sum',
        'gen_ai.request.model': 'gpt-test',
        'gen_ai.usage.input_tokens': 20,
        'gen_ai.usage.output_tokens': 10,
        'proctor.attempt': 1,
        'proctor.origin': 'run',
        'proctor.steps': 2,
        'proctor.status': 'completed',
        'proctor.stop_reason': 'answered',
        'proctor.reward': 1,
      },
      events: [
        {
          name: 'gen_ai.evaluation.result',
          attributes: {
            'gen_ai.evaluation.name': 'sum',
            'gen_ai.evaluation.score.value': 1,
            'gen_ai.evaluation.score.label': 'passed',
          },
        },
      ],
    });
    const [first, second] = tracing.spans.filter(({ name }) => name === 'chat gpt-test');
    expect(first).toMatchObject({
      kind: 'CLIENT',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-test',
        'gen_ai.request.temperature': 0.5,
        'gen_ai.request.max_tokens': 100,
        'gen_ai.request.seed': 7,
        'gen_ai.request.stream': true,
        'gen_ai.response.id': 'chatcmpl-1',
        'gen_ai.response.model': 'm',
        'gen_ai.response.finish_reasons': ['tool_calls'],
        'proctor.retries': 0,
      },
    });
    expect(second?.attributes).toMatchObject({
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
    });
    expect(tracing.span('execute_tool add')).toMatchObject({
      kind: 'INTERNAL',
      status: { code: 0 },
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'add',
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': expect.stringMatching(/^call_/),
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': '2025-11-25',
        'proctor.step': 1,
      },
    });
    expect(tracing.span('execute_tool broken')).toMatchObject({
      status: { code: 2 },
      attributes: { 'error.type': 'tool_error' },
    });
    expect(tracing.span('tools/call setup')).toMatchObject({
      kind: 'CLIENT',
      attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'setup' },
    });
    expect(tracing.text()).not.toContain('What is 1 + 2?');
  });

  it('are told of in _meta of setup, tool calls and evaluation, each by the span that it is made in', async () => {
    const tracing = await startTracing();
    const { traceId, observed } = await play([calls(['add', { a: 1, b: 2 }]), says('3')]);
    await tracing.flush();
    const parents = observed.meta.map(({ at, meta }) => [at, ATTEMPT.exec(String(meta.traceparent))?.slice(1)]);
    const idOf = (name: string) => tracing.span(name).spanId;
    expect(parents).toEqual([
      ['setup', [traceId, idOf('tools/call setup'), '01']],
      ['add', [traceId, idOf('execute_tool add'), '01']],
      ['evaluate', [traceId, expect.any(String), '01']],
    ]);
  });

  it('say what failed: the gateway', async () => {
    const tracing = await startTracing();
    const refuse: Play = (response) => response.writeHead(400).end('{"error":{"message":"No such thing"}}');
    const { traceId, trace } = await play([refuse]);
    await tracing.flush();
    expect(trace).toMatchObject({ status: 'failed', error: { boundary: 'model' } });
    expect(tracing.span('chat gpt-test')).toMatchObject({
      status: { code: 2, message: expect.stringContaining('No such thing') },
      attributes: { 'error.type': 'model_failed' },
    });
    expect(tracing.span('invoke_agent observed:sum')).toMatchObject({
      traceId,
      status: { code: 2 },
      attributes: { 'error.type': 'model_failed', 'proctor.error.boundary': 'model', 'proctor.status': 'failed' },
    });
  });

  it('hold messages, arguments and results where they are asked for, without secrets', async () => {
    vi.stubEnv('PLANTED_TOKEN', 'planted-value-of-a-token');
    const tracing = await startTracing({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' });
    await play([calls(['add', { a: 1, b: 2 }], ['broken', { note: 'planted-value-of-a-token' }]), says('3')]);
    await tracing.flush();
    const [first, second] = tracing.spans.filter(({ name }) => name === 'chat gpt-test');
    const input = JSON.parse(String(first?.attributes['gen_ai.input.messages']));
    expect(input).toEqual([{ role: 'user', parts: [{ type: 'text', content: 'What is 1 + 2?' }] }]);
    const output = JSON.parse(String(second?.attributes['gen_ai.output.messages']));
    expect(output).toEqual([{ role: 'assistant', parts: [{ type: 'text', content: '3' }], finish_reason: 'stop' }]);
    expect(first?.attributes['gen_ai.tool.definitions']).toContain('"name":"add"');
    expect(tracing.span('execute_tool add').attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"a":1,"b":2}',
      // An object, as the conventions have it.
      'gen_ai.tool.call.result': '{"content":[{"type":"text","content":"3"}]}',
    });
    expect(tracing.span('execute_tool broken').attributes['gen_ai.tool.call.arguments']).toBe(
      '{"note":"[redacted:PLANTED_TOKEN]"}',
    );
    expect(tracing.span('invoke_agent observed:sum').events[0]?.attributes).toMatchObject({
      'gen_ai.evaluation.explanation': 'as asked',
    });
    expect(tracing.text()).not.toContain('planted-value-of-a-token');
  });
});

describe('the spans of a chat session', () => {
  it('are in the trace of the session: one invocation for each turn, and the evaluation', async () => {
    const tracing = await startTracing();
    const observed = createObserved();
    const server = await serve({
      environments: new Map([['observed', observed.target]]),
      plays: [calls(['add', { a: 1, b: 2 }]), says('4'), says('3')],
    });
    const { session_id, trace_id } = svcOf(await server.chat('Go.', { scenario: 'sum', scenario_args: {} }));
    await server.chat('Again.', { thread_id: session_id });
    expect(finishedOf(await server.post(`/v1/sessions/${session_id}/finish`))).toMatchObject({ reward: 1 });
    await server.close();
    await tracing.flush();
    expect(tracing.tree(trace_id)).toEqual([
      'invoke_agent observed:sum',
      '  initialize',
      '  tools/call setup',
      '  tools/list',
      '  chat test-model',
      '  execute_tool add',
      '  chat test-model',
      'invoke_agent observed:sum',
      '  chat test-model',
      'tools/call evaluate',
    ]);
    const turns = tracing.spans.filter(({ name }) => name === 'invoke_agent observed:sum');
    expect(turns.map(({ attributes }) => [attributes['gen_ai.conversation.id'], attributes['proctor.turn']])).toEqual([
      [session_id, 1],
      [session_id, 2],
    ]);
    expect(tracing.span('tools/call evaluate')).toMatchObject({
      attributes: { 'proctor.reward': 1 },
      events: [{ name: 'gen_ai.evaluation.result' }],
    });
    expect(observed.meta.map(({ meta }) => ATTEMPT.exec(String(meta.traceparent))?.[1])).toEqual([
      trace_id,
      trace_id,
      trace_id,
    ]);
  });
});

describe('sampling', () => {
  it.each([
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, false, '00'],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, false, '00'],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, false, '00'],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' }, true, '01'],
  ])('goes as %j says, and the trace id is the run’s in any case', async (variables, isExported, flags) => {
    const tracing = await startTracing(variables);
    const { traceId, observed } = await play([calls(['add', { a: 1, b: 2 }]), says('3')]);
    await tracing.flush();
    expect(tracing.spans.length > 0).toBe(isExported);
    const parents = observed.meta.map(({ meta }) => ATTEMPT.exec(String(meta.traceparent)));
    expect(parents.map((match) => [match?.[1], match?.[3]])).toEqual(parents.map(() => [traceId, flags]));
  });

  it('that does not exist is said, and all is exported', async () => {
    const tracing = await startTracing({ OTEL_TRACES_SAMPLER: 'sometimes' });
    expect(tracing.warnings).toEqual([expect.stringContaining('"sometimes"')]);
  });
});

describe('without an SDK', () => {
  it('nothing is recorded, and the environment still learns the trace id of the run', async () => {
    const { traceId, trace, observed } = await play([calls(['add', { a: 1, b: 2 }]), says('3')]);
    expect(trace).toMatchObject({ status: 'completed', reward: 1 });
    expect(observed.meta.map(({ meta }) => ATTEMPT.exec(String(meta.traceparent))?.[1])).toEqual([
      traceId,
      traceId,
      traceId,
    ]);
  });
});

describe('a collector that refuses', () => {
  it('is told of once, and nothing else suffers', async () => {
    const tracing = await startTracing({}, { status: 400 });
    const { trace } = await play([says('3')]);
    await tracing.flush();
    expect(trace.status).toBe('completed');
    expect(tracing.warnings).toEqual([expect.stringContaining('Spans could not be exported')]);
  });
});
