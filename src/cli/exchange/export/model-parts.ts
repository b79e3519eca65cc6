import type { TraceSummary } from '../../../contract/service/trace.ts';
import type { ExportFormat } from '../../../store/formats/format.ts';
import type { Losses } from '../../../store/formats/losses.ts';
import { UsageError } from '../../base/failure.ts';
import { listModels, type Selection, selectTraces } from './selected-traces.ts';
import type { TraceSource } from './trace-source.ts';

/** The traces of one model. They go to one file or folder. */
export interface ModelPart<Head> {
  /** Name of the model; null without traces. */
  readonly model: string | null;
  /** Path of the output. Undefined: standard output. */
  readonly out: string | undefined;
  readonly head: Head;
  readonly ids: readonly string[];
  readonly first: TraceSummary | undefined;
  /** Records which facts were merged in the head: several environments, scenarios, agents or evaluations. */
  nameMerged(losses: Losses): void;
}

/** Facts that the head of a file can contain only once. */
const MERGED = {
  agent: 'the head of the file has one mean for all of them',
  env_name: 'the head of the file has one name and one mean for all of them',
  evaluation_id: 'the head of the file has one mean for all of them, and counts attempts of one task together',
  scenario_name: 'the head of the file has one name and one mean for all of them',
} as const;

interface ModelGroup<Head> {
  readonly model: string;
  readonly head: Head;
  readonly ids: string[];
  readonly first: TraceSummary;
  readonly facts: ReadonlyMap<keyof typeof MERGED, Set<string>>;
}

/**
 * Groups the selected traces by model, sorted by name, since a file has one mean and so one model.
 *
 * @throws UsageError for several models on standard output; also as `selectTraces`.
 */
export async function selectByModel<Head extends { add(trace: TraceSummary): void }>(
  source: TraceSource,
  plan: Selection & { readonly format: ExportFormat; readonly out: string | undefined },
  createHead: () => Head,
): Promise<readonly ModelPart<Head>[]> {
  const byModel = new Map<string, ModelGroup<Head>>();
  await selectTraces(source, plan, (trace) => {
    const part = byModel.get(trace.model) ?? collect(trace, createHead());
    byModel.set(trace.model, part);
    part.head.add(trace);
    part.ids.push(trace.trace_id);
    for (const [field, values] of part.facts) values.add(String(trace[field] ?? null));
  });
  const parts = [...byModel.values()].sort((one, other) => (one.model < other.model ? -1 : 1));
  const models = parts.map(({ model }) => model);
  if (parts.length === 0) return [{ ...EMPTY, out: plan.out, head: createHead() }];
  if (parts.length > 1 && plan.out === undefined) {
    throw new UsageError(
      `--format ${plan.format} has one model in a file, and these traces are of ${models.length}: ${listModels(models)}. ` +
        'Take one with --model, or write a file for each with --out.',
    );
  }
  const outs = plan.out === undefined ? [] : pathsOf(plan.out, models);
  return parts.map(({ facts, ...part }, index) => ({
    ...part,
    out: outs[index],
    nameMerged(losses) {
      for (const [field, { size }] of facts) if (size > 1) losses.add(field, MERGED[field], size);
    },
  }));
}

const EMPTY = { model: null, ids: [], first: undefined, nameMerged: () => {} };

function collect<Head>(first: TraceSummary, head: Head): ModelGroup<Head> {
  const fields = Object.keys(MERGED) as (keyof typeof MERGED)[];
  return { model: first.model, head, ids: [], first, facts: new Map(fields.map((field) => [field, new Set()])) };
}

/** Most characters of the model's name in a file name. */
const MAX_NAME = 80;

/** Output paths: `run.eval` becomes `run-<model>.eval` if there are several models. Paths are unique, ignoring case. */
function pathsOf(out: string, models: readonly string[]): readonly string[] {
  if (models.length < 2) return [out];
  const taken = new Set<string>();
  // A trailing slash is kept, so that a folder is still refused where a file is required.
  const ending = /\/+$|\.[^./]*$/.exec(out)?.[0] ?? '';
  const stem = out.slice(0, out.length - ending.length);
  return models.map((model) => {
    const name = model.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, MAX_NAME);
    let path = `${stem}-${name}${ending}`;
    for (let number = 2; taken.has(path.toLowerCase()); number++) path = `${stem}-${name}-${number}${ending}`;
    taken.add(path.toLowerCase());
    return path;
  });
}
