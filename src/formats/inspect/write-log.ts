import type { JsonObject } from '../../contract/json.ts';
import type { Trace } from '../../contract/trace.ts';
import type { WriteContext } from '../format.ts';
import type { ZipWriter } from '../zip-writer.ts';
import { type InspectHead, Places } from './log-head.ts';
import type { SamplePlace } from './sample-parts.ts';
import { toSample } from './write-sample.ts';

/** A log as one document, piece by piece: one sample is held at a time. */
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

/** The same as `.eval`: a zip with a member for each sample. A line of each stays in memory until its end. */
export async function writeEvalLog(
  zip: ZipWriter,
  { head, id }: { readonly head: InspectHead; readonly id: string },
  traces: AsyncIterable<Trace>,
  context: WriteContext,
): Promise<void> {
  const places = new Places();
  const summaries: JsonObject[] = [];
  await zip.add('_journal/start.json', JSON.stringify({ version: 2, ...head.toStart(id) }));
  for await (const trace of traces) {
    const place = places.of(trace);
    const sample = toSample(trace, place, context);
    await zip.add(`samples/${place.id}_epoch_${place.epoch}.json`, JSON.stringify(sample));
    summaries.push(toSampleSummary(sample, place));
  }
  await zip.add('_journal/summaries/1.json', JSON.stringify(summaries));
  await zip.add('summaries.json', JSON.stringify(summaries));
  await zip.add('header.json', JSON.stringify(head.toJson(id)));
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
