import { BoundaryError, messageOf } from '../../contract/errors.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { RecordedVerdicts } from '../../rollout/session/judge/recorded-verdicts.ts';
import type { TraceRow, TraceStore } from '../../store/traces/trace-store.ts';
import { createForkScript } from './fork/fork-script.ts';
import { blobsOf, readRecorded } from './replay/recorded-trace.ts';
import { createReplayScript, type ReplayPlan } from './replay/replay-script.ts';

/** The script of a run that repeats a trace; undefined for any other. It never throws: the run says what is missing. */
export async function openReplayPlan(
  { account, request: { parent } }: Pick<TraceRow, 'account' | 'request'>,
  store: TraceStore,
): Promise<ReplayPlan | undefined> {
  if (!parent) return undefined;
  const { redactor } = store;
  try {
    const trace = await store.trace(parent.trace_id, account);
    if (trace === undefined) throw new Error(`The trace ${parent.trace_id} was deleted, and cannot be repeated`);
    const blobs = blobsOf(store, account);
    const recorded = await readRecorded(trace, blobs);
    if (parent.kind === 'replay') {
      const verdicts = parent.fresh === true ? undefined : await readVerdicts(trace, { account, store });
      return createReplayScript(recorded, { redactor, verdicts });
    }
    return await createForkScript(recorded, { afterStep: parent.after_step ?? 0, redactor, blobs });
  } catch (error) {
    const failure = new BoundaryError('worker', 'trace_not_found', messageOf(error), { cause: error });
    return failing(failure);
  }
}

/** Most replays of a trace whose verdicts are used in addition to its own. */
const MOST_REPLAYS = 5;

/** Recorded verdicts for a trace: its own, then those of its newest replays. */
async function readVerdicts(
  { trace_id, judgements = [] }: Trace,
  { account, store }: { readonly account: string; readonly store: TraceStore },
): Promise<RecordedVerdicts> {
  const { data } = await store.list({ account, parent: trace_id, origin: 'replay', limit: MOST_REPLAYS });
  return new RecordedVerdicts([...judgements, ...data.flatMap((replay) => replay.judgements ?? [])]);
}

function failing(error: BoundaryError): ReplayPlan {
  return {
    turns: [{ messages: [], cut: new AbortController().signal, hasReply: false }],
    seed: null,
    createAgent() {
      throw error;
    },
    amend: (event) => event,
  };
}
