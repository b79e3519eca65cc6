import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../contract/json.ts';
import type { Loss } from '../../../contract/service/import.ts';
import { type AtifVersion, atifFormat } from '../../../store/formats/atif/write.ts';
import { type ExportFormat, isOfCompleted, type LineFormat } from '../../../store/formats/format.ts';
import { InspectHead } from '../../../store/formats/inspect/log-head.ts';
import { writeEvalLog, writeJsonLog } from '../../../store/formats/inspect/write-log.ts';
import { jsonlFormat } from '../../../store/formats/jsonl.ts';
import { openAiFormat } from '../../../store/formats/lines/openai.ts';
import { openAiDpoFormat } from '../../../store/formats/lines/openai-dpo.ts';
import { trlFormat } from '../../../store/formats/lines/trl.ts';
import { VerifiersMetadata } from '../../../store/formats/verifiers/metadata.ts';
import { toResultRow } from '../../../store/formats/verifiers/write.ts';
import { refuseFolder, writeFolder, writeText, writeZip } from '../../base/output.ts';
import { type ModelPart, selectByModel } from './model-parts.ts';
import { Pairs } from './pairs.ts';
import { type Selection, selectTraces } from './selected-traces.ts';
import type { TraceSource } from './trace-source.ts';
import { TraceReader } from './write-traces.ts';

export interface ExportPlan extends Selection {
  readonly format: ExportFormat;
  /** Path of the output. Undefined: standard output. */
  readonly out: string | undefined;
  readonly atif: AtifVersion;
  readonly signal: AbortSignal;
}

export interface ExportReport {
  /** Number of written traces. */
  readonly traces: number;
  /** Written files and folders; empty for standard output. */
  readonly files: readonly WrittenFile[];
  readonly lost: readonly Loss[];
  /** Messages about skipped traces. */
  readonly skipped: readonly string[];
}

export interface WrittenFile {
  readonly path: string;
  /** Model of the file. Null if it may contain several, or has no traces. */
  readonly model: string | null;
  readonly traces: number;
}

/** Most trace ids in one message. */
const MAX_NAMED = 10;

/** Writes the selected traces. Only one is in memory at a time. */
export async function exportTraces(source: TraceSource, plan: ExportPlan): Promise<ExportReport> {
  switch (plan.format) {
    case 'inspect':
      return await exportInspect(source, plan);
    case 'verifiers':
      return await exportVerifiers(source, plan);
    case 'openai-dpo':
      return await exportPairs(source, plan);
    default:
      return await exportLines(source, plan, lineFormatOf(plan.format, plan.atif));
  }
}

/** Line formats. Trainer formats skip runs that failed. */
function lineFormatOf(
  format: Exclude<ExportFormat, 'inspect' | 'verifiers' | 'openai-dpo'>,
  atif: AtifVersion,
): LineFormat {
  const formats = { jsonl: jsonlFormat, atif: atifFormat(atif), openai: openAiFormat(), trl: trlFormat() };
  return formats[format];
}

async function exportLines(source: TraceSource, plan: ExportPlan, format: LineFormat): Promise<ExportReport> {
  const failed: string[] = [];
  const wanted: string[] = [];
  await selectTraces(source, plan, (trace) => {
    if (isOfCompleted(format.name) && trace.status !== 'completed') failed.push(trace.trace_id);
    else wanted.push(trace.trace_id);
  });
  const reader = new TraceReader(source, format.name === 'atif' ? plan.out : undefined);
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
  const report = { traces: written, lost: reader.losses.toList(), skipped: describeSkipped(failed) };
  return { ...report, files: toFiles(plan.out, null, written) };
}

async function exportPairs(source: TraceSource, plan: ExportPlan): Promise<ExportReport> {
  const pairs = new Pairs();
  await selectTraces(source, plan, (trace) => pairs.add(trace));
  const reader = new TraceReader(source, undefined);
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
  const files = toFiles(plan.out, null, written);
  return { traces: written, files, lost: reader.losses.toList(), skipped: [] };
}

async function exportInspect(source: TraceSource, plan: ExportPlan): Promise<ExportReport> {
  const parts = await selectByModel(source, plan, () => new InspectHead());
  const files: WrittenFile[] = [];
  const reader = new TraceReader(source, undefined);
  const context = { ...reader.context };
  for (const part of parts) {
    const { head, out, ids } = part;
    const [id, runId] = [logIdOf(part), part.first?.evaluation_id ?? undefined];
    const before = reader.count;
    const traces = reader.read(ids, plan.signal);
    if (out?.endsWith('.eval')) {
      await writeZip(out, (zip) => writeEvalLog(zip, { head, id, runId }, traces, context), plan.signal);
    } else {
      await writeText(out, writeJsonLog(head.toJson(id, runId), traces, context), plan.signal);
    }
    part.nameMerged(reader.losses);
    files.push(...toFiles(out, part.model, reader.count - before));
  }
  return { traces: reader.count, files, lost: reader.losses.toList(), skipped: [] };
}

/**
 * Id of an Inspect log. It is the same in each export of an evaluation with one model; with several, each log has
 * its own.
 */
function logIdOf({ first, model }: ModelPart<unknown>): string {
  if (first?.evaluation_id == null) return first?.trace_id ?? 'empty';
  const digest = createHash('sha256').update(String(model)).digest('hex');
  return `${first.evaluation_id}-${digest.slice(0, 8)}`;
}

async function exportVerifiers(source: TraceSource, plan: ExportPlan): Promise<ExportReport> {
  const folder = plan.out?.replace(/\/+$/, '');
  const parts = await selectByModel(source, { ...plan, out: folder }, () => new VerifiersMetadata());
  // Checks all folders first, so that no partial export is written.
  for (const { out = 'verifiers' } of parts) await refuseFolder(out);
  const files: WrittenFile[] = [];
  const reader = new TraceReader(source, undefined);
  for (const part of parts) {
    const { head: metadata, out = 'verifiers', ids } = part;
    const before = reader.count;
    async function* lines() {
      for await (const trace of reader.read(ids, plan.signal)) {
        const row: JsonObject = toResultRow(trace, metadata.indexOf(trace), reader.context);
        yield `${JSON.stringify(row)}\n`;
      }
    }
    await writeFolder(out, { lines: lines(), toMetadata: () => metadata.toJson() }, plan.signal);
    part.nameMerged(reader.losses);
    files.push(...toFiles(out, part.model, reader.count - before));
  }
  return { traces: reader.count, files, lost: reader.losses.toList(), skipped: [] };
}

function toFiles(path: string | undefined, model: string | null, traces: number): readonly WrittenFile[] {
  return path === undefined ? [] : [{ path, model, traces }];
}

function describeSkipped(ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  return [`Left out, since they did not complete: ${ids.slice(0, MAX_NAMED).join(', ')}${more}.`];
}
