import { BoundaryError, FORK_DIFFERS } from '../../../contract/errors.ts';
import type { Json } from '../../../contract/json.ts';
import type { EventOf } from '../../../contract/service/event.ts';
import type { Difference } from '../../../contract/service/replay.ts';
import type { ToolResultRecord, Trace } from '../../../contract/service/trace.ts';
import type { Agent } from '../../../rollout/session/agent.ts';
import { AgentLoop } from '../../../rollout/session/agent-loop.ts';
import type { Redactor } from '../../../support/redaction/redactor.ts';
import { Comparison } from '../replay/comparison.ts';
import { type Blobs, type RecordedTrace, type RecordedTurn, toWhole, toWords } from '../replay/recorded-trace.ts';
import { ReplayAgent } from '../replay/replay-agent.ts';
import { type ReplayPlan, toRepeated, toScripted } from '../replay/replay-script.ts';
import { toJson } from '../to-json.ts';

export interface ForkOptions {
  readonly afterStep: number;
  readonly redactor: Redactor;
  readonly blobs: Blobs;
}

/**
 * The run that repeats a trace up to a step and then lets its model continue. The model sees the recorded results, even
 * if a repeated result differs in a volatile part.
 */
export async function createForkScript(recorded: RecordedTrace, options: ForkOptions): Promise<ReplayPlan> {
  const { trace } = recorded;
  const turns = turnsUntil(recorded.turns, options.afterStep).map(toRepeated);
  const taken = await takeOver(trace, turns, options.blobs);
  const comparison = new Comparison(trace, options.redactor);
  /** Repeated results that differ only in volatile parts. */
  const volatile = new Set<ToolResultRecord>();
  let isTaken = false;
  return {
    turns: turns.map(toScripted),
    seed: trace.seed,
    words: toWords(trace, turns),
    createAgent: (createModel) =>
      new ReplayAgent({
        turns,
        error: trace.error,
        onResult(result, place, event) {
          if (!comparison.sawResult(result, place, event) || comparison.isExact(result, event)) return event;
          volatile.add(result);
          const { content, structured_content } = result;
          return { ...event, content, structured_content };
        },
        shown: (result, message) => ({ ...message, ...(volatile.has(result) ? taken.results.get(result) : undefined) }),
        async beforeStep({ transcript, recorder }) {
          if (comparison.difference !== undefined) throw forkDiffers(trace, comparison.difference);
          if (isTaken) return;
          isTaken = true;
          transcript.takeOver(trace.system, taken.prompt);
          // From now on this trace owns the blobs in it, too.
          await recorder.toStored(toJson([taken.prompt, ...taken.results.values()]));
        },
        successor: goingOn(new AgentLoop(createModel()), trace),
      }),
    amend(event) {
      comparison.saw(event);
      const isSame = event.type === 'setup.completed' && comparison.difference === undefined;
      return isSame ? asRecorded(event, trace) : event;
    },
  };
}

/** The turns up to that of the step, which is cut after it. Step 0 is before the first turn. */
function turnsUntil(turns: readonly RecordedTurn[], afterStep: number): readonly RecordedTurn[] {
  const index = turns.findIndex(({ steps }) => steps.some(({ step }) => step === afterStep));
  const last = turns[Math.max(0, index)];
  if (last === undefined) return [];
  const steps = last.steps.filter(({ step }) => step <= afterStep);
  return [...turns.slice(0, Math.max(0, index)), { ...last, steps, calls: [], reply: undefined }];
}

type Taken = Pick<ToolResultRecord, 'content' | 'structured_content'>;

async function takeOver(trace: Trace, turns: readonly RecordedTurn[], blobs: Blobs) {
  const results = new Map<
    ToolResultRecord,
    { readonly content: Taken['content']; readonly structured_content: Structured }
  >();
  for (const result of turns.flatMap(({ steps }) => steps.flatMap((step) => step.tool_results))) {
    const { content, structured_content } = await toWhole(result, blobs);
    // An environment returns an object or nothing here.
    results.set(result, { content, structured_content: structured_content as Structured });
  }
  return { prompt: await toWhole(trace.prompt, blobs), results };
}

type Structured = { [key: string]: Json } | null;

/** Offers the model the tools of the recorded run. */
function goingOn(loop: Agent, { tools }: Trace): Agent {
  return { takeTurn: (turn) => loop.takeTurn({ ...turn, tools }) };
}

/** Records the setup that the model sees. */
function asRecorded(event: EventOf<'setup.completed'>, { system, prompt, tools }: Trace): EventOf<'setup.completed'> {
  return { ...event, system, prompt, tools };
}

function forkDiffers({ trace_id }: Trace, { at, step, call, before, after }: Difference): BoundaryError {
  const place = step === null ? `The ${at}` : `Step ${step}, call ${call}`;
  return new BoundaryError(
    'worker',
    FORK_DIFFERS,
    `${place} differs from trace ${trace_id}, so that its model cannot go on from there. Before: ${JSON.stringify(before)} Now: ${JSON.stringify(after)}`,
  );
}
