import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ApiError, BoundaryError } from '../../src/contract/errors.ts';
import type { PromptMessage } from '../../src/contract/scenario.ts';
import type { ChatModel } from '../../src/model/chat-model.ts';
import { ScenarioSession } from '../../src/rollout/scenario-session.ts';
import {
  type CounterParts,
  call,
  calls,
  counterClient,
  forever,
  gate,
  listRecorder,
  says,
  scripted,
  untilAborted,
} from './fixtures.ts';

const user = (content: string): PromptMessage => ({ role: 'user', content });
const signal = new AbortController().signal;
const failure = new BoundaryError('model', 'model_failed', 'The gateway answered 500');

async function openSession(model: ChatModel, parts: CounterParts = {}) {
  const client = counterClient(parts);
  const recorder = listRecorder();
  const session = await ScenarioSession.open({
    client,
    scenario: 'count_to',
    args: { target: 2 },
    model,
    sampling: {},
    recorder: recorder,
    signal,
  });
  return { client, recorder, session };
}

/** The transcript as one line for each message. */
function lines(messages: readonly { readonly role: string; readonly content: unknown }[] | undefined): string[] {
  return (messages ?? []).map(({ role, content }) => {
    const text = Array.isArray(content) ? content.map((part) => part.text).join(' ') : content;
    return `${role}: ${text ?? '-'}`;
  });
}

describe('a scenario session', () => {
  it('sends the system prompt, the caller’s instructions, the prompt, then the turns', async () => {
    const model = scripted(calls(call('increment')), says('One.'), says('Two.'));
    const { session } = await openSession(model);
    await session.turn([{ role: 'system', content: 'Be brief.' }, user('Go.')], { maxSteps: 5, signal });
    const second = await session.turn([user('And on.')], { maxSteps: 5, signal });
    expect(second).toMatchObject({ turn: 2, status: 'answered', answer: 'Two.' });
    expect(lines(model.requests[2]?.messages)).toEqual([
      'system: You count.',
      'system: Be brief.',
      'user: Count to two.',
      'user: Go.',
      'assistant: -',
      'tool: 1',
      'assistant: One.',
      'user: And on.',
    ]);
  });

  it('numbers steps over all turns, while max_steps bounds each turn', async () => {
    const model = scripted(calls(call('read')), says('One.'), calls(call('read')), says('Two.'));
    const { session, recorder } = await openSession(model);
    await session.turn([user('a')], { maxSteps: 2, signal });
    const second = await session.turn([user('b')], { maxSteps: 2, signal });
    expect(second.status).toBe('answered');
    expect(recorder.of('model.responded').map(({ turn, step }) => [turn, step])).toEqual([
      [1, 1],
      [1, 2],
      [2, 3],
      [2, 4],
    ]);
    expect(session.steps).toBe(4);
  });

  it('offers the model the tools without what is the harness’s of them', async () => {
    const model = scripted(says(''));
    const { session } = await openSession(model);
    await session.turn([], { maxSteps: 1, signal });
    expect(model.requests[0]?.tools).toEqual([
      { name: 'increment', description: 'increment it', input_schema: { type: 'object' } },
      { name: 'read', description: 'read it', input_schema: { type: 'object' } },
    ]);
  });

  it('passes deltas and events on as they come, and no delta of an aborted turn', async () => {
    const abort = new AbortController();
    const model = scripted(
      ({ onDelta }) => {
        onDelta?.({ content: 'One' });
        return calls(call('read'));
      },
      ({ onDelta }) => {
        abort.abort(new Error('gone'));
        onDelta?.({ content: 'too late' });
        return forever();
      },
    );
    const deltas: unknown[] = [];
    const events: string[] = [];
    const { session } = await openSession(model);
    await session.turn([user('a')], {
      maxSteps: 5,
      signal: abort.signal,
      onDelta: (delta) => deltas.push(delta),
      onEvent: (event) => events.push(event.type),
    });
    expect(deltas).toEqual([{ content: 'One' }]);
    expect(events).toEqual([
      'turn.started',
      'model.requested',
      'model.responded',
      'tool.called',
      'tool.responded',
      'model.requested',
      'turn.finished',
    ]);
  });

  it('takes one turn at a time, and no finish meanwhile', async () => {
    const line = gate<ReturnType<typeof says>>();
    const { session } = await openSession(scripted(() => line.passed));
    const turn = session.turn([user('a')], { maxSteps: 1, signal });
    const busy = expect.objectContaining({ code: 'session_busy' });
    await expect(session.turn([user('b')], { maxSteps: 1, signal })).rejects.toEqual(busy);
    await expect(session.finish({ signal })).rejects.toEqual(busy);
    line.open(says('One.'));
    expect((await turn).status).toBe('answered');
  });

  it('waits until a step is durable before it begins the next', async () => {
    const isWritten = gate();
    const model = scripted(calls(call('read')), says('One.'));
    const { session, recorder } = await openSession(model);
    recorder.holdUntil(isWritten.passed);
    const turn = session.turn([user('a')], { maxSteps: 5, signal });
    await expect.poll(() => recorder.of('tool.responded').length).toBe(1);
    await setImmediate();
    expect(model.requests).toHaveLength(1);
    isWritten.open();
    await turn;
    expect(model.requests).toHaveLength(2);
  });
});

describe('a turn that failed or was aborted', () => {
  it('keeps its completed steps, and the same messages resume it instead of being added twice', async () => {
    const model = scripted(calls(call('increment')), failure, says('Two.'));
    const { session, client } = await openSession(model);
    const failed = await session.turn([user('Go.')], { maxSteps: 5, signal });
    expect(failed).toMatchObject({ status: 'failed', error: failure, responses: [{ finishReason: 'tool_calls' }] });
    const resumed = await session.turn([user('Go.')], { maxSteps: 5, signal });
    expect(resumed).toMatchObject({ turn: 2, status: 'answered', answer: 'Two.' });
    expect(client.count).toBe(1);
    expect(lines(model.requests[2]?.messages).slice(2)).toEqual(['user: Go.', 'assistant: -', 'tool: 1']);
  });

  it('is followed by other messages where others are sent', async () => {
    const model = scripted(calls(call('increment')), failure, says('Two.'));
    const { session } = await openSession(model);
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    await session.turn([user('Stop.')], { maxSteps: 5, signal });
    expect(lines(model.requests[2]?.messages).slice(2)).toEqual([
      'user: Go.',
      'assistant: -',
      'tool: 1',
      'user: Stop.',
    ]);
  });

  it('can be resumed again where the resumption failed at its first step', async () => {
    const model = scripted(calls(call('increment')), failure, failure, says('Two.'));
    const { session } = await openSession(model);
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    expect(lines(model.requests[3]?.messages).slice(2)).toEqual(['user: Go.', 'assistant: -', 'tool: 1']);
  });

  it('drops its messages where no step was completed', async () => {
    const model = scripted(says('One.'), failure, says('Two.'));
    const { session } = await openSession(model);
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    await session.turn([{ role: 'system', content: 'Be rude.' }, user('Lost.')], { maxSteps: 5, signal });
    await session.turn([user('Again.')], { maxSteps: 5, signal });
    expect(lines(model.requests[2]?.messages)).toEqual([
      'system: You count.',
      'user: Count to two.',
      'user: Go.',
      'assistant: One.',
      'user: Again.',
    ]);
  });

  it('closes its open calls with an error result', async () => {
    const abort = new AbortController();
    const onCall = (_name: string, _args: object, callSignal: AbortSignal) => {
      abort.abort(new Error('The client went away'));
      return untilAborted(callSignal.aborted ? AbortSignal.abort() : callSignal);
    };
    let isFirst = true;
    const model = scripted(calls(call('increment'), call('increment')), says('Two.'));
    const { session, recorder } = await openSession(model, {
      onCall: (...given) => {
        if (!isFirst) return undefined;
        isFirst = false;
        return onCall(...given);
      },
    });
    const aborted = await session.turn([user('Go.')], { maxSteps: 5, signal: abort.signal });
    expect(aborted).toMatchObject({ status: 'aborted', reason: new Error('The client went away') });
    expect(recorder.of('turn.finished')[0]?.status).toBe('aborted');
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    expect(lines(model.requests[1]?.messages).slice(2)).toEqual([
      'user: Go.',
      'assistant: -',
      'tool: The call was stopped: The client went away',
      'tool: The call was not run: The client went away',
    ]);
  });
});

describe('finishing a session', () => {
  it('submits the last assistant text and evaluates it once: later calls get the same object', async () => {
    const { session, client, recorder } = await openSession(scripted(says('Two.')));
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    const [first, second] = await Promise.all([session.finish({ signal }), session.finish({ signal })]);
    const third = await session.finish({ answer: 'another', signal });
    expect(first).toMatchObject({ answer: 'Two.', evaluation: { reward: 0 } });
    expect(second).toBe(first);
    expect(third).toBe(first);
    expect(client.asked.filter((what) => what.startsWith('evaluate'))).toEqual(['evaluate "Two."']);
    expect(recorder.of('evaluation.completed')).toHaveLength(1);
  });

  it('submits the answer that is given; null is as none', async () => {
    const given = await openSession(scripted(says('Two.')));
    await given.session.turn([], { maxSteps: 5, signal });
    expect(await given.session.finish({ answer: { count: 2 }, signal })).toMatchObject({ answer: { count: 2 } });
    const none = await openSession(scripted(says('Two.')));
    await none.session.turn([], { maxSteps: 5, signal });
    expect(await none.session.finish({ answer: null, signal })).toMatchObject({ answer: 'Two.' });
  });

  it('submits an empty text where the model said nothing', async () => {
    const { session } = await openSession(scripted());
    expect(await session.finish({ signal })).toMatchObject({ answer: '' });
  });

  it('fails each time with the same error where the evaluation failed', async () => {
    const { session, client } = await openSession(scripted(), {
      onEvaluate: () => {
        throw new TypeError('boom');
      },
    });
    const first = await session.finish({ signal }).catch((error: unknown) => error);
    expect(first).toMatchObject({ boundary: 'evaluate', message: 'The evaluation of scenario count_to failed: boom' });
    await expect(session.finish({ signal })).rejects.toBe(first);
    expect(client.asked.filter((what) => what.startsWith('evaluate'))).toHaveLength(1);
  });

  it('ends the session: a turn after it is refused', async () => {
    const { session } = await openSession(scripted(says('Two.')));
    await session.finish({ signal });
    await expect(session.turn([user('More.')], { maxSteps: 1, signal })).rejects.toThrow(ApiError);
  });
});

describe('closing a session', () => {
  it('aborts a turn that runs, waits for its end and closes the environment', async () => {
    const asked = gate();
    const model = scripted(() => {
      asked.open();
      return forever();
    });
    const { session, client, recorder } = await openSession(model);
    const close = client.close.bind(client);
    client.close = async () => {
      expect(recorder.of('turn.finished')).toHaveLength(1);
      await close();
    };
    const turn = session.turn([user('Go.')], { maxSteps: 1, signal });
    await asked.passed;
    await session.close();
    expect((await turn).status).toBe('aborted');
    expect(client.isClosed).toBe(true);
    await expect(session.turn([user('More.')], { maxSteps: 1, signal })).rejects.toThrow('has ended');
    await expect(session.finish({ signal })).rejects.toThrow('closed unfinished');
  });
});

describe('opening a session', () => {
  it('leaves the client to the caller where the setup fails', async () => {
    const client = counterClient({
      onSetup: () => {
        throw new TypeError('no table');
      },
    });
    const recorder = listRecorder();
    const opening = ScenarioSession.open({
      client,
      scenario: 'count_to',
      args: {},
      model: scripted(),
      sampling: {},
      recorder: recorder,
      signal,
    });
    await expect(opening).rejects.toMatchObject({
      boundary: 'setup',
      message: 'The setup of scenario count_to failed: no table',
    });
    expect(client.isClosed).toBe(false);
    expect(recorder.events).toEqual([]);
  });
});
