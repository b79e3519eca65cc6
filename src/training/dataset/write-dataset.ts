import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DATASET_FILES, type DatasetManifest, type DatasetSourceLine } from '../../contract/service/dataset.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { readTraces } from '../../store/traces/read-traces.ts';
import type { ChosenLine } from './candidate.ts';
import { StepCounts } from './counts.ts';
import { toCard } from './dataset-card.ts';
import type { DatasetOptions, DatasetParts, DatasetPlan } from './dataset-request.ts';
import { LineFile } from './line-file.ts';
import { LineRenderer } from './render-line.ts';
import { checkLine } from './validate/check-line.ts';

/** Characters of JSON per token, for a rough estimate. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * Renders and validates the lines of a plan, and writes the files into an empty folder. @throws the reason of the
 * signal.
 */
export async function writeDataset(
  parts: DatasetParts,
  plan: DatasetPlan,
  folder: string,
  options: DatasetOptions,
): Promise<DatasetManifest> {
  const { request, lines, steps } = plan;
  const writing = new Writing(parts, plan, options);
  const sources = await LineFile.create(join(folder, DATASET_FILES.sources));
  try {
    const train = await writing.write(lines.train, 'train.jsonl', folder, sources);
    const validation = await writing.write(lines.validation, 'validation.jsonl', folder, sources);
    await sources.end();
    const manifest: DatasetManifest = {
      object: 'dataset',
      format: request.format,
      from: request.from,
      select: request.select,
      held_out: request.heldOut.map(({ name }) => name),
      steps: [...steps, writing.rendered.toCounts(), writing.validated.toCounts()],
      lines: { train: train.lines, validation: validation.lines },
      tasks: { train: train.tasks, validation: validation.tasks },
      bytes: { train: train.bytes, validation: validation.bytes },
      tokens: Math.ceil((train.bytes + validation.bytes) / CHARACTERS_PER_TOKEN),
      models: Object.fromEntries([...writing.models].sort(([one], [other]) => (one < other ? -1 : 1))),
      hash: hashOf([request.format, train.hash, validation.hash]),
    };
    await writeFile(join(folder, DATASET_FILES.manifest), `${JSON.stringify(manifest, null, 2)}\n`);
    await writeFile(join(folder, DATASET_FILES.card), toCard(manifest));
    return manifest;
  } finally {
    await sources.close();
  }
}

interface WrittenFile {
  readonly lines: number;
  readonly bytes: number;
  readonly tasks: number;
  readonly hash: string;
}

class Writing {
  readonly rendered = new StepCounts('render');
  readonly validated = new StepCounts('validate');
  readonly models = new Map<string, number>();
  readonly #parts: DatasetParts;
  readonly #plan: DatasetPlan;
  readonly #options: DatasetOptions;
  readonly #renderer: LineRenderer;
  /** Trainers refuse files in which only some lines have tools. */
  readonly #hasTools: boolean;

  constructor(parts: DatasetParts, plan: DatasetPlan, options: DatasetOptions) {
    this.#parts = parts;
    this.#plan = plan;
    this.#options = options;
    const { format, select } = plan.request;
    this.#renderer = new LineRenderer(format, select, parts);
    this.#hasTools = [...plan.lines.train, ...plan.lines.validation].some(({ trace }) => trace.hasTools);
  }

  async write(
    chosen: readonly ChosenLine[],
    name: DatasetSourceLine['file'],
    folder: string,
    sources: LineFile,
  ): Promise<WrittenFile> {
    const file = await LineFile.create(join(folder, name));
    const tasks = new Set<string>();
    try {
      for await (const [line, traces] of this.#read(chosen)) {
        const text = await this.#toText(line, traces);
        if (text === undefined) continue;
        await file.write(text);
        await sources.write(JSON.stringify(toSource(name, file.lines, line)));
        tasks.add(line.trace.taskKey);
        this.models.set(line.trace.model, (this.models.get(line.trace.model) ?? 0) + 1);
        if (file.lines % 500 === 0) this.#options.onProgress?.({ step: 'render', done: this.rendered.in });
      }
      const hash = await file.end();
      return { lines: file.lines, bytes: file.bytes, tasks: tasks.size, hash };
    } finally {
      await file.close();
    }
  }

  /** Lines with their traces, in order. A line is skipped when its trace was deleted in the meantime. */
  async *#read(chosen: readonly ChosenLine[]): AsyncGenerator<readonly [ChosenLine, Traces], void> {
    const ids = chosen.flatMap(({ trace, rejected }) =>
      rejected === undefined ? [trace.traceId] : [trace.traceId, rejected.traceId],
    );
    const traces = readTraces(this.#parts.database.scans, ids, this.#options.signal);
    try {
      let next = await traces.next();
      const take = async (id: string | undefined) => {
        if (id === undefined || next.done === true || next.value.trace_id !== id) return undefined;
        const trace = next.value;
        next = await traces.next();
        return trace;
      };
      for (const line of chosen) {
        const trace = await take(line.trace.traceId);
        yield [line, { trace, rejected: await take(line.rejected?.traceId) }];
      }
    } finally {
      await traces.return();
    }
  }

  async #toText(line: ChosenLine, { trace, rejected }: Traces): Promise<string | undefined> {
    const isGone = trace === undefined || (line.rejected !== undefined && rejected === undefined);
    if (isGone) return this.#drop(this.rendered, 'deleted');
    if (this.#hasTools && !line.trace.hasTools) return this.#drop(this.rendered, 'no_tools');
    const rendered = await this.#renderer.render(trace, rejected);
    if ('reason' in rendered) return this.#drop(this.rendered, rendered.reason);
    const text = JSON.stringify(rendered.line);
    if (this.#parts.redactor.text(text) !== text) return this.#drop(this.rendered, 'secret');
    this.rendered.kept();
    const problem = checkLine(this.#plan.request.format, rendered.line).find(({ level }) => level === 'error');
    if (problem !== undefined) return this.#drop(this.validated, problem.code);
    this.validated.kept();
    return text;
  }

  #drop(counts: StepCounts, reason: string): undefined {
    counts.dropped(reason);
    return undefined;
  }
}

interface Traces {
  readonly trace: Trace | undefined;
  readonly rejected: Trace | undefined;
}

function toSource(file: DatasetSourceLine['file'], line: number, { trace, rejected }: ChosenLine): DatasetSourceLine {
  return {
    file,
    line,
    trace_id: trace.traceId,
    ...(rejected === undefined ? {} : { rejected_trace_id: rejected.traceId }),
  };
}

function hashOf(parts: readonly string[]): string {
  return createHash('sha256')
    .update(parts.map((part) => `${part}\n`).join(''))
    .digest('hex');
}
