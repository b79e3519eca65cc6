import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ApiError, BoundaryError } from '../../../src/contract/errors.ts';
import type { PromptMessage } from '../../../src/contract/scenario.ts';
import type { ChatModel } from '../../../src/models/gateway/chat-model.ts';
import { AgentLoop } from '../../../src/rollout/session/agent-loop.ts';
import { ScenarioSession, type ScenarioSessionOptions } from '../../../src/rollout/session/scenario-session.ts';
import { stopOf } from '../../../src/rollout/session/session-end.ts';
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

function createSession(model: ChatModel, parts: CounterParts = {}, fields: Partial<ScenarioSessionOptions> = {}) {
  const lost = gate<BoundaryError>();
  const client = Object.assign(counterClient(parts), { lost: lost.passed });
  const recorder = listRecorder();
  const session = new ScenarioSession({
    id: 'sess_1',
    scenario: 'count_to',
    args: { target: 2 },
    seed: null,
    connect: async () => client,
    createAgent: () => new AgentLoop(model),
    sampling: {},
    recorder,
    worker: 'test',
    environmentHash: null,
    ...fields,
  });
  return { client, recorder, session, lose: lost.open };
}

const answered = { stopReason: 'answered' } as const;
const abandoned = {
  status: 'cancelled',
  stopReason: 'abandoned',
  error: null,
  reason: new Error('The session was abandoned'),
} as const;

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
    const { session } = createSession(model);
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
    const { session, recorder } = createSession(model);
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
    const { session } = createSession(model);
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
    const { session } = createSession(model);
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

  it('passes the text of a model that gives no deltas on at once', async () => {
    const deltas: unknown[] = [];
    const model = scripted(calls(call('read')), ({ onDelta }) => {
      onDelta?.({ reasoning: 'Hm.' });
      return says('Two.');
    });
    const { session } = createSession(model);
    await session.turn([], { maxSteps: 5, signal, onDelta: (delta) => deltas.push(delta) });
    expect(deltas).toEqual([{ reasoning: 'Hm.' }, { content: 'Two.' }]);
  });

  it('takes one turn at a time, and no finish meanwhile', async () => {
    const line = gate<ReturnType<typeof says>>();
    const { session } = createSession(scripted(() => line.passed));
    const turn = session.turn([user('a')], { maxSteps: 1, signal });
    const busy = expect.objectContaining({ code: 'session_busy' });
    await expect(session.turn([user('b')], { maxSteps: 1, signal })).rejects.toEqual(busy);
    await expect(session.finish(answered)).rejects.toEqual(busy);
    line.open(says('One.'));
    expect((await turn).status).toBe('answered');
  });

  it('waits until a step is durable before it begins the next', async () => {
    const isWritten = gate();
    const model = scripted(calls(call('read')), says('One.'));
    const { session, recorder } = createSession(model);
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
    const { session, client } = createSession(model);
    const failed = await session.turn([user('Go.')], { maxSteps: 5, signal });
    expect(failed).toMatchObject({ status: 'failed', error: failure, responses: [{ finishReason: 'tool_calls' }] });
    const resumed = await session.turn([user('Go.')], { maxSteps: 5, signal });
    expect(resumed).toMatchObject({ turn: 2, status: 'answered', answer: 'Two.' });
    expect(client.count).toBe(1);
    expect(lines(model.requests[2]?.messages).slice(2)).toEqual(['user: Go.', 'assistant: -', 'tool: 1']);
  });

  it('is followed by other messages where others are sent', async () => {
    const model = scripted(calls(call('increment')), failure, says('Two.'));
    const { session } = createSession(model);
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
    const { session } = createSession(model);
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    expect(lines(model.requests[3]?.messages).slice(2)).toEqual(['user: Go.', 'assistant: -', 'tool: 1']);
  });

  it('drops its messages where no step was completed', async () => {
    const model = scripted(says('One.'), failure, says('Two.'));
    const { session } = createSession(model);
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
    const { session, recorder } = createSession(model, {
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
    const { session, client, recorder } = createSession(scripted(says('Two.')));
    await session.turn([user('Go.')], { maxSteps: 5, signal });
    const [first, second] = await Promise.all([session.finish(answered), session.finish(answered)]);
    const third = await session.finish({ ...answered, answer: 'another' });
    expect(first).toMatchObject({ status: 'completed', answer: 'Two.', evaluation: { reward: 0 }, reward: 0 });
    expect(second).toBe(first);
    expect(third).toBe(first);
    expect(client.asked.filter((what) => what.startsWith('evaluate'))).toEqual(['evaluate "Two."']);
    expect(recorder.of('evaluation.completed')).toHaveLength(1);
    expect(recorder.of('run.finished')).toHaveLength(1);
  });

  it('submits the answer that is given; null is as none', async () => {
    const given = createSession(scripted(says('Two.')));
    await given.session.turn([], { maxSteps: 5, signal });
    expect(await given.session.finish({ ...answered, answer: { count: 2 } })).toMatchObject({ answer: { count: 2 } });
    const none = createSession(scripted(says('Two.')));
    await none.session.turn([], { maxSteps: 5, signal });
    expect(await none.session.finish({ ...answered, answer: null })).toMatchObject({ answer: 'Two.' });
  });

  it('submits an empty text where the model said nothing', async () => {
    const { session } = createSession(scripted(failure));
    await session.turn([], { maxSteps: 5, signal });
    expect(await session.finish(answered)).toMatchObject({ answer: '' });
  });

  it('ends the session as failed where the evaluation fails, for every call', async () => {
    const { session, client } = createSession(scripted(says('Two.')), {
      onEvaluate: () => {
        throw new TypeError('boom');
      },
    });
    await session.turn([], { maxSteps: 5, signal });
    const first = await session.finish(answered);
    expect(first).toMatchObject({
      status: 'failed',
      error: { boundary: 'evaluate', message: 'The evaluation of scenario count_to failed: boom' },
    });
    expect(await session.finish(answered)).toBe(first);
    expect(client.asked.filter((what) => what.startsWith('evaluate'))).toHaveLength(1);
  });

  it('takes no other turn while the answer is repaired, and ends the session', async () => {
    const line = gate<ReturnType<typeof says>>();
    const { session, recorder } = createSession(
      scripted(says('two'), () => line.passed),
      { setup: { answer_schema: { type: 'number' } } },
    );
    await session.turn([], { maxSteps: 5, signal });
    const finishing = session.finish({ ...answered, repairs: true });
    await expect.poll(() => recorder.of('turn.started').length).toBe(2);
    expect(session.turns).toBe(1);
    const ending = expect.objectContaining({ code: 'session_finished', message: 'Session sess_1 is being ended.' });
    await expect(session.turn([user('More.')], { maxSteps: 1, signal })).rejects.toEqual(ending);
    line.open(says('2'));
    expect(await finishing).toMatchObject({ status: 'completed', answer: 2 });
    await expect(session.turn([user('More.')], { maxSteps: 1, signal })).rejects.toThrow(ApiError);
  });
});

describe('stopping a session', () => {
  it('aborts a turn that runs, waits for its end and closes the environment', async () => {
    const asked = gate();
    const model = scripted(() => {
      asked.open();
      return forever();
    });
    const { session, client, recorder } = createSession(model);
    const turn = session.turn([user('Go.')], { maxSteps: 1, signal });
    await asked.passed;
    const end = await session.stop(abandoned);
    await session.closed;
    expect(await turn).toMatchObject({ status: 'aborted', reason: abandoned.reason });
    expect(end).toMatchObject({ status: 'cancelled', stopReason: 'abandoned', error: null });
    expect(recorder.events.slice(-2)).toMatchObject([
      { type: 'turn.finished', status: 'aborted' },
      { type: 'run.finished', status: 'cancelled', stop_reason: 'abandoned' },
    ]);
    expect(client.isClosed).toBe(true);
    await expect(session.turn([user('More.')], { maxSteps: 1, signal })).rejects.toThrow('is abandoned');
    expect(await session.finish(answered)).toBe(end);
    expect(await session.stop(stopOf(failure))).toBe(end);
  });

  it('aborts an evaluation that goes on, and decides how the session ends', async () => {
    const evaluating = gate();
    const { session, recorder } = createSession(scripted(says('Two.')), {
      onEvaluate: () => {
        evaluating.open();
        return forever();
      },
    });
    await session.turn([], { maxSteps: 5, signal });
    const finishing = session.finish(answered);
    await evaluating.passed;
    const end = await session.stop(abandoned);
    expect(end).toMatchObject({ status: 'cancelled', stopReason: 'abandoned' });
    expect(await finishing).toBe(end);
    expect(recorder.of('run.finished')).toHaveLength(1);
  });

  it('tells a caller where the end cannot be written, and closes the environment', async () => {
    const { session, client, recorder } = createSession(scripted(says('Two.')));
    await session.turn([], { maxSteps: 5, signal });
    const full = new Error('disk full');
    recorder.failWith(full);
    await expect(session.finish(answered)).rejects.toBe(full);
    expect(session.end).toMatchObject({ status: 'failed', reward: null, error: { message: 'disk full' } });
    await session.closed;
    expect(client.isClosed).toBe(true);
  });
});

describe('a session whose environment is lost', () => {
  const gone = new BoundaryError('environment', 'environment_failed', 'The process was killed');

  it('fails the turn that runs at once, whatever it waits for', async () => {
    const asked = gate();
    const model = scripted(() => {
      asked.open();
      return forever();
    });
    const { session, lose } = createSession(model);
    const turn = session.turn([], { maxSteps: 1, signal });
    await asked.passed;
    lose(gone);
    expect(await turn).toMatchObject({ status: 'failed', error: gone });
  });

  it('ends as failed between two turns', async () => {
    const { session, lose } = createSession(scripted(says('One.')));
    await session.turn([], { maxSteps: 1, signal });
    lose(gone);
    await expect.poll(() => session.phase).toBe('ended');
    expect(session.end).toMatchObject({ status: 'failed', error: gone });
  });

  it('ends as failed where it is no attempt of a run, though its process held others too', async () => {
    const { session, client, recorder, lose } = createSession(scripted(says('One.')));
    Object.assign(client, { isShared: true, isLost: true });
    await session.turn([], { maxSteps: 1, signal });
    lose(gone);
    await expect.poll(() => session.phase).toBe('ended');
    expect(session.end).toMatchObject({ status: 'failed', error: gone });
    expect(recorder.of('run.finished')).toMatchObject([{ status: 'failed' }]);
  });
});

describe('opening a session', () => {
  it('is part of the first turn; where the setup fails, the session has failed and its environment is closed', async () => {
    const { session, client, recorder } = createSession(scripted(), {
      onSetup: () => {
        throw new TypeError('no table');
      },
    });
    expect(session.phase).toBe('new');
    const opening = session.turn([], { maxSteps: 1, signal });
    expect(session.phase).toBe('opening');
    await expect(opening).rejects.toMatchObject({
      boundary: 'setup',
      message: 'The setup of scenario count_to failed: no table',
    });
    expect(session.end).toMatchObject({ status: 'failed', error: { boundary: 'setup' } });
    await session.closed;
    expect(client.isClosed).toBe(true);
    expect(recorder.events.map(({ type }) => type)).toEqual(['run.started', 'environment.ready', 'run.finished']);
  });

  it.each(['model', 'environment'] as const)(
    'names the boundary %s where that is where it failed',
    async (boundary) => {
      const broken = () => {
        throw new TypeError('not here');
      };
      const fields = boundary === 'model' ? { createAgent: broken } : { connect: broken };
      const { session } = createSession(scripted(), {}, fields);
      await expect(session.turn([], { maxSteps: 1, signal })).rejects.toThrow('not here');
      expect(session.end).toMatchObject({ status: 'failed', error: { boundary, message: 'not here' } });
    },
  );
});
