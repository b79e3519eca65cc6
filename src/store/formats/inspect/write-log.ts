import type { JsonObject } from '../../../contract/json.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import type { WriteContext } from '../format.ts';
import type { ZipWriter } from '../zip-writer.ts';
import { type InspectHead, Places } from './log-head.ts';
import type { SamplePlace } from './sample-parts.ts';
import { toSample } from './write-sample.ts';

/** Writes a log as one document, sample by sample, so that only one sample is in memory. */
export async function* writeJsonLog(
  head: JsonObject,
  traces: AsyncIterable<Trace>,
  context: WriteContext,
): AsyncGenerator<string> {
  const places = new Places();
  yield `${JSON.stringify(head).slice(0, -1)},"samples":[`;
  let separator = '\n';
  for await (const trace of traces) {
    yield separator + JSON.stringify(toSample(trace, places.of(trace), context));
    separator = ',\n';
  }
  yield '\n]}\n';
}

/**
 * Writes a log as `.eval`: a zip with one member for each sample. One line per sample stays in memory until the end.
 */
export async function writeEvalLog(
  zip: ZipWriter,
  { head, id, runId }: { readonly head: InspectHead; readonly id: string; readonly runId?: string | undefined },
  traces: AsyncIterable<Trace>,
  context: WriteContext,
): Promise<void> {
  const places = new Places();
  const summaries: JsonObject[] = [];
  await zip.add('_journal/start.json', JSON.stringify({ version: 2, ...head.toStart(id, runId) }));
  for await (const trace of traces) {
    const place = places.of(trace);
    const sample = toSample(trace, place, context);
    await zip.add(`samples/${place.id}_epoch_${place.epoch}.json`, JSON.stringify(sample));
    summaries.push(toSampleSummary(sample, place));
  }
  await zip.add('_journal/summaries/1.json', JSON.stringify(summaries));
  await zip.add('summaries.json', JSON.stringify(summaries));
  await zip.add('header.json', JSON.stringify(head.toJson(id, runId)));
  await zip.end();
}

const MAX_INPUT = 500;

function toSampleSummary(sample: JsonObject, { id, epoch }: SamplePlace): JsonObject {
  const kept = ['target', 'scores', 'model_usage', 'started_at', 'completed_at', 'total_time', 'working_time', 'uuid'];
  const entries = kept.flatMap((name) => (sample[name] === undefined ? [] : [[name, sample[name]] as const]));
  const { error, limit, input } = sample;
  return {
    id,
    epoch,
    input: String(input).slice(0, MAX_INPUT),
    ...Object.fromEntries(entries),
    ...(typeof error === 'object' && error !== null && 'message' in error ? { error: error.message ?? '' } : {}),
    ...(typeof limit === 'object' && limit !== null && 'type' in limit ? { limit: limit.type ?? '' } : {}),
    completed: true,
  };
}
