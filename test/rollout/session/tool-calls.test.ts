import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import {
  type CounterParts,
  call,
  calls,
  counterClient,
  forever,
  gate,
  listRecorder,
  malformedCall,
  runOptions,
  says,
  scripted,
  textResult,
  toResponse,
} from './fixtures.ts';

/** Plays one response with these calls and gives what the model was told then. */
async function answersTo(response: ReturnType<typeof calls>, parts: CounterParts = {}, limits = {}) {
  const client = counterClient(parts);
  const recorder = listRecorder();
  const model = scripted(response, says('Done.'));
  const outcome = await executeRun(runOptions(client, model, recorder, { limits }));
  const history = model.requests[1]?.messages ?? [];
  const told = history.filter((message) => message.role === 'tool');
  return { client, recorder, outcome, history, told };
}

function textOf(message: { readonly content: unknown } | undefined): string {
  return JSON.stringify(message?.content);
}

describe('the tool calls of one response', () => {
  it('run in order, each answered under its own id', async () => {
    const first = call('increment');
    const second = call('read');
    const { told, recorder } = await answersTo(calls(first, second));
    expect(told).toEqual([
      {
        role: 'tool',
        tool_call_id: first.id,
        name: 'increment',
        content: [{ type: 'text', text: '1' }],
        structured_content: { count: 1 },
        is_error: false,
      },
      {
        role: 'tool',
        tool_call_id: second.id,
        name: 'read',
        content: [{ type: 'text', text: '1' }],
        structured_content: { count: 1 },
        is_error: false,
      },
    ]);
    const types = recorder.events.map((event) => event.type).filter((type) => type.startsWith('tool.'));
    expect(types).toEqual(['tool.called', 'tool.responded', 'tool.called', 'tool.responded']);
  });

  it('run together where all of them are annotated read-only, answered in the order of the calls', async () => {
    let running = 0;
    let most = 0;
    const allStarted = gate();
    const onCall = async (_name: string, args: { readonly n?: unknown }) => {
      running += 1;
      most = Math.max(most, running);
      if (running === 3) allStarted.open();
      await allStarted.passed;
      return textResult(String(args.n));
    };
    const { told } = await answersTo(calls(call('read', { n: 1 }), call('read', { n: 2 }), call('read', { n: 3 })), {
      onCall,
    });
    expect(most).toBe(3);
    expect(told.map((message) => textOf(message))).toEqual(
      ['1', '2', '3'].map((n) => `[{"type":"text","text":"${n}"}]`),
    );
  });

  it('run one by one where one of them is not read-only', async () => {
    let running = 0;
    let most = 0;
    const onCall = async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return textResult('ok');
    };
    await answersTo(calls(call('read'), call('increment'), call('read')), { onCall });
    expect(most).toBe(1);
  });

  it('are not run where the arguments are not JSON: the model is told what was wrong, and the history is valid', async () => {
    const { told, client, history, recorder } = await answersTo(calls(malformedCall('increment', '{"by": 1')));
    expect(client.asked).not.toContain('increment');
    expect(told[0]?.is_error).toBe(true);
    expect(textOf(told[0])).toMatch(/increment was not run: its arguments are not valid JSON \(.+\)/);
    const replayed = history.find((message) => message.role === 'assistant');
    expect(replayed).toMatchObject({ tool_calls: [{ arguments: {}, raw_arguments: null }] });
    expect(recorder.of('tool.called')[0]).toMatchObject({ arguments: {}, raw_arguments: '{"by": 1' });
    expect(recorder.of('model.responded')[0]?.message.tool_calls[0]?.raw_arguments).toBe('{"by": 1');
  });

  it.each([
    ['[1]', 'an array'],
    ['"by"', 'a string'],
    ['null', 'null'],
  ])('are not run where the arguments are %s and not an object', async (raw, kind) => {
    const { told } = await answersTo(calls(malformedCall('increment', raw)));
    expect(textOf(told[0])).toContain(`have to be a JSON object, not ${kind}`);
  });

  it('that are nested without measure are not run, and the model is told so', async () => {
    const raw = `{"by":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
    const { told, client, outcome } = await answersTo(calls(malformedCall('increment', raw)));
    expect(client.asked).not.toContain('increment');
    expect(textOf(told[0])).toContain('its arguments are nested more than 128 deep');
    expect(outcome).toMatchObject({ status: 'completed' });
  });

  it('are told to be cut where the response ended by length, and the whole ones among them are run', async () => {
    const whole = call('increment');
    const cut = malformedCall('increment', '{"by');
    const response = toResponse({ content: null, calls: [whole, cut], finishReason: 'length' });
    const { told, client, outcome } = await answersTo(response);
    expect(client.count).toBe(1);
    expect(textOf(told[1])).toContain('cut at its token limit');
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered' });
  });

  it('reach the server with an unknown name too, and its own words reach the model', async () => {
    const { told, client, outcome } = await answersTo(calls(call('evaluate', { name: 'count_to' })));
    expect(client.asked).toContain('evaluate');
    expect(told[0]).toMatchObject({ is_error: true, content: [{ type: 'text', text: 'Unknown tool: evaluate' }] });
    expect(outcome).toMatchObject({ status: 'completed' });
  });

  it('that take too long are stopped, and the model is told', async () => {
    let wasAborted = false;
    const onCall = (_name: string, _args: object, signal: AbortSignal) => {
      signal.addEventListener('abort', () => {
        wasAborted = true;
      });
      return forever();
    };
    const { told, outcome } = await answersTo(calls(call('increment')), { onCall }, { toolCallMs: 20 });
    expect(wasAborted).toBe(true);
    expect(textOf(told[0])).toContain('The tool increment did not answer within 20 ms');
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered' });
  });

  it('fail the run where the client rejects: what the agent may see would be a result', async () => {
    const onCall = () => {
      throw new BoundaryError('tool', 'environment_failed', 'The environment ended with code 9');
    };
    const { outcome, recorder } = await answersTo(calls(call('increment')), { onCall });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { boundary: 'tool', message: 'The environment ended with code 9' },
    });
    expect(recorder.of('tool.responded')[0]?.is_error).toBe(true);
  });

  it('fail the run where the client throws what is no error of ours', async () => {
    const onCall = () => {
      throw new TypeError('socket hang up');
    };
    const { outcome } = await answersTo(calls(call('increment')), { onCall });
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { boundary: 'environment', message: 'The environment failed at the call of increment: socket hang up' },
    });
  });

  it('count their wall time once where they ran together', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const together = gate();
    let running = 0;
    const onCall = async () => {
      running += 1;
      if (running === 2) {
        vi.advanceTimersByTime(30);
        together.open();
      }
      await together.passed;
      return textResult('ok');
    };
    const { recorder } = await answersTo(calls(call('read'), call('read')), { onCall });
    expect(recorder.of('tool.responded').map((event) => event.duration_ms)).toEqual([30, 30]);
    expect(recorder.of('turn.finished')[0]?.tool_ms).toBe(30);
  });

  it('keep stored content in the trace while the model sees the bytes', async () => {
    const image = { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' };
    const client = counterClient({
      onCall: () => ({ content: [image], structured_content: null, is_error: false }),
    });
    const recorder = listRecorder();
    recorder.toStored = async (value) => JSON.parse(JSON.stringify(value).replace('aGVsbG8=', 'svc-blob://sha256/00'));
    const model = scripted(calls(call('read')), says('A picture.'));
    await executeRun(runOptions(client, model, recorder));
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: [image] });
    expect(recorder.of('tool.responded')[0]?.content).toEqual([{ ...image, data: 'svc-blob://sha256/00' }]);
  });
});
