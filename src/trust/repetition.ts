import { BoundaryError, messageOf } from '../contract/errors.ts';
import type { TraceRow, TraceStore } from '../trace/trace-store.ts';
import { createForkScript } from './fork/fork-script.ts';
import { blobsOf, readRecorded } from './replay/recorded-trace.ts';
import { createReplayScript, type Repetition } from './replay/replay-script.ts';

/** The script of a run that repeats a trace; undefined for any other. It never throws: the run says what is missing. */
export async function openRepetition(
  { account, request: { parent } }: Pick<TraceRow, 'account' | 'request'>,
  store: TraceStore,
): Promise<Repetition | undefined> {
  if (!parent) return undefined;
  const { redactor } = store;
  try {
    const trace = await store.trace(parent.trace_id, account);
    if (trace === undefined) throw new Error(`The trace ${parent.trace_id} was deleted, and cannot be repeated`);
    const blobs = blobsOf(store, account);
    const recorded = await readRecorded(trace, blobs);
    if (parent.kind === 'replay') return createReplayScript(recorded, redactor);
    return await createForkScript(recorded, { afterStep: parent.after_step ?? 0, redactor, blobs });
  } catch (error) {
    const failure = new BoundaryError('worker', 'trace_not_found', messageOf(error), { cause: error });
    return failing(failure);
  }
}

function failing(error: BoundaryError): Repetition {
  return {
    turns: [{ messages: [], cut: new AbortController().signal }],
    seed: null,
    createAgent() {
      throw error;
    },
    amend: (event) => event,
  };
}
