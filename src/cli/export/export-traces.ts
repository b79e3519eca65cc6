import type { JsonObject } from '../../contract/json.ts';
import type { Trace, TraceSummary } from '../../contract/trace.ts';
import { type AtifVersion, atifFormat } from '../../formats/atif/write.ts';
import { type ExportFormat, isOfCompleted, type LineFormat } from '../../formats/format.ts';
import { InspectHead } from '../../formats/inspect/log-head.ts';
import { writeEvalLog, writeJsonLog } from '../../formats/inspect/write-log.ts';
import { jsonlFormat } from '../../formats/jsonl.ts';
import type { Loss } from '../../formats/losses.ts';
import { openAiFormat } from '../../formats/openai.ts';
import { openAiDpoFormat } from '../../formats/openai-dpo.ts';
import { trlFormat } from '../../formats/trl.ts';
import { VerifiersMetadata } from '../../formats/verifiers/metadata.ts';
import { toResultRow } from '../../formats/verifiers/write.ts';
import type { TraceStore } from '../../trace/trace-store.ts';
import { writeFolder, writeText, writeZip } from './output.ts';
import { Pairs } from './pairs.ts';
import { type Selection, selectTraces } from './selected-traces.ts';
import { TraceReader } from './write-traces.ts';

export interface ExportPlan extends Selection {
  readonly format: ExportFormat;
  /** Undefined: standard output. */
  readonly out: string | undefined;
  readonly atif: AtifVersion;
  readonly signal: AbortSignal;
}

export interface ExportReport {
  /** Traces that were written. */
  readonly traces: number;
  readonly lost: readonly Loss[];
  /** Sentences on traces that were left out. */
  readonly skipped: readonly string[];
}

/** Ids of traces that a sentence names. */
const MAX_NAMED = 10;

/** Writes the selected traces; one is held at a time. */
export async function exportTraces(store: TraceStore, plan: ExportPlan): Promise<ExportReport> {
  switch (plan.format) {
    case 'inspect':
      return await exportInspect(store, plan);
    case 'verifiers':
      return await exportVerifiers(store, plan, plan.out ?? 'verifiers');
    case 'openai-dpo':
      return await exportPairs(store, plan);
    default:
      return await exportLines(store, plan, lineFormatOf(plan.format, plan.atif));
  }
}

/** Formats with a line for each trace; those for trainers have none of a run that failed. */
function lineFormatOf(
  format: Exclude<ExportFormat, 'inspect' | 'verifiers' | 'openai-dpo'>,
  atif: AtifVersion,
): LineFormat {
  const formats = { jsonl: jsonlFormat, atif: atifFormat(atif), openai: openAiFormat(), trl: trlFormat() };
  return formats[format];
}

async function exportLines(store: TraceStore, plan: ExportPlan, format: LineFormat): Promise<ExportReport> {
  const failed: string[] = [];
  const wanted: string[] = [];
  await selectTraces(store, plan, (trace) => {
    if (isOfCompleted(format.name) && trace.status !== 'completed') failed.push(trace.trace_id);
    else wanted.push(trace.trace_id);
  });
  const reader = new TraceReader(store, format.name === 'atif' ? plan.out : undefined);
  let written = 0;
  async function* lines() {
    for await (const trace of reader.read(wanted, plan.signal)) {
      const line = format.toLine(trace, reader.context);
      if (line === undefined) continue;
      written += 1;
      yield `${JSON.stringify(line)}\n`;
    }
  }
  await writeText(plan.out, lines(), plan.signal);
  return { traces: written, lost: reader.losses.toList(), skipped: describeSkipped(failed) };
}

async function exportPairs(store: TraceStore, plan: ExportPlan): Promise<ExportReport> {
  const pairs = new Pairs();
  await selectTraces(store, plan, (trace) => pairs.add(trace));
  const reader = new TraceReader(store, undefined);
  const format = openAiDpoFormat();
  let written = 0;
  async function* lines() {
    for (const ids of pairs.ids()) {
      const pair = await reader.pair(ids);
      const line = pair && format.toPairLine(pair[0], pair[1], reader.context);
      if (line === undefined) continue;
      written += 2;
      yield `${JSON.stringify(line)}\n`;
    }
  }
  await writeText(plan.out, lines(), plan.signal);
  return { traces: written, lost: reader.losses.toList(), skipped: [] };
}

async function exportInspect(store: TraceStore, plan: ExportPlan): Promise<ExportReport> {
  const head = new InspectHead();
  const first: TraceSummary[] = [];
  const ids = await selectTraces(store, plan, (trace) => {
    head.add(trace);
    if (first.length === 0) first.push(trace);
  });
  const id = first[0]?.evaluation_id ?? first[0]?.trace_id ?? 'empty';
  const reader = new TraceReader(store, undefined);
  const context = { ...reader.context };
  const traces: AsyncIterable<Trace> = reader.read(ids, plan.signal);
  if (plan.out?.endsWith('.eval')) {
    await writeZip(plan.out, (zip) => writeEvalLog(zip, { head, id }, traces, context), plan.signal);
  } else {
    await writeText(plan.out, writeJsonLog(head.toJson(id), traces, context), plan.signal);
  }
  return { traces: reader.count, lost: reader.losses.toList(), skipped: [] };
}

async function exportVerifiers(store: TraceStore, plan: ExportPlan, out: string): Promise<ExportReport> {
  const metadata = new VerifiersMetadata();
  const ids = await selectTraces(store, plan, (trace) => metadata.add(trace));
  const reader = new TraceReader(store, undefined);
  async function* lines() {
    for await (const trace of reader.read(ids, plan.signal)) {
      const row: JsonObject = toResultRow(trace, metadata.indexOf(trace), reader.context);
      yield `${JSON.stringify(row)}\n`;
    }
  }
  await writeFolder(out, { lines: lines(), toMetadata: () => metadata.toJson() }, plan.signal);
  return { traces: reader.count, lost: reader.losses.toList(), skipped: [] };
}

function describeSkipped(ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  return [`Left out, since they did not complete: ${ids.slice(0, MAX_NAMED).join(', ')}${more}.`];
}
