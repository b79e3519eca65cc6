import { ApiError } from '../../contract/errors.ts';
import { isEnded } from '../../contract/service/ended.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { toDataUrl } from '../../store/formats/addresses.ts';
import { atifFormat } from '../../store/formats/atif/write.ts';
import { EXPORT_FORMATS, isOfCompleted, type WriteContext } from '../../store/formats/format.ts';
import { InspectHead, Places } from '../../store/formats/inspect/log-head.ts';
import { toSample } from '../../store/formats/inspect/write-sample.ts';
import { jsonlFormat } from '../../store/formats/jsonl.ts';
import { openAiFormat } from '../../store/formats/lines/openai.ts';
import { trlFormat } from '../../store/formats/lines/trl.ts';
import { Losses } from '../../store/formats/losses.ts';
import { BLOB_PREFIX } from '../../store/traces/rows/blob-references.ts';
import { toSummary } from '../../store/traces/rows/projection.ts';
import { loadBytes } from '../../store/traces/trace-bytes.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { LOST_HEADER, type RouteReply } from '../../support/http/api/route.ts';

/** Most characters of a header. A longer one is cut and ends in `...`. */
const MAX_HEADER = 2_000;

type RouteFormat = 'jsonl' | 'atif' | 'inspect' | 'openai' | 'trl';

const FILES: Readonly<Record<RouteFormat, { readonly type: string; readonly ending: string }>> = {
  jsonl: { type: 'application/x-ndjson', ending: 'jsonl' },
  atif: { type: 'application/json', ending: 'atif.json' },
  inspect: { type: 'application/json', ending: 'inspect.json' },
  openai: { type: 'application/x-ndjson', ending: 'openai.jsonl' },
  trl: { type: 'application/x-ndjson', ending: 'trl.jsonl' },
};

/**
 * Exports a trace as a file of a format.
 *
 * @throws ApiError run_running for a trace that has not ended; invalid_parameter for a format that cannot export a
 * single trace or a failed one.
 */
export async function toExportReply(
  store: TraceStore,
  trace: Trace,
  { format, account }: { readonly format: string; readonly account: string },
): Promise<RouteReply> {
  if (!isRouteFormat(format)) throw unknownFormat(format);
  if (!isEnded(trace.status)) {
    const hint = 'wait for its end (?wait=60), or read the trace without a format';
    throw new ApiError('run_running', `The run of trace ${trace.trace_id} is ${trace.status}: ${hint}.`);
  }
  if (isOfCompleted(format) && trace.status !== 'completed') {
    const message = `The trace has no line in the format ${format}, which is of completed runs: it is ${trace.status}.`;
    throw new ApiError('invalid_parameter', message, { param: 'format' });
  }
  const losses = new Losses();
  const addressOf = format === 'atif' ? blobUrls(trace) : await inlineBytes(store, trace, account);
  const { type, ending } = FILES[format];
  const file = render(trace, format, { losses, addressOf });
  return {
    headers: {
      'content-type': `${type}; charset=utf-8`,
      'content-disposition': `attachment; filename="${trace.trace_id}.${ending}"`,
      ...toLostHeader(losses),
    },
    body: `${file}\n`,
  };
}

function render(trace: Trace, format: RouteFormat, context: WriteContext): string {
  if (format === 'inspect') {
    const head = new InspectHead();
    head.add(toSummary(trace));
    const samples = [toSample(trace, new Places().of(trace), context)];
    return JSON.stringify({ ...head.toJson(trace.trace_id), samples });
  }
  const formats = { jsonl: jsonlFormat, atif: atifFormat('1.8'), openai: openAiFormat(), trl: trlFormat() };
  const line = formats[format].toLine(trace, context);
  if (line !== undefined) return JSON.stringify(line);
  const [loss] = context.losses.toList().filter(({ field }) => field === 'trace');
  throw new ApiError(
    'invalid_parameter',
    `The trace has no line in the format ${format}: ${loss?.why ?? 'it does not fit'}.`,
    {
      param: 'format',
    },
  );
}

/** Addresses of binary content at this server. The reader needs a key or cookie, as for the trace. */
function blobUrls(trace: Trace): WriteContext['addressOf'] {
  const base = trace.trace_url.replace(/\/traces\/[^/]*$/, '');
  return (bytes) => {
    if (!bytes.data.startsWith(BLOB_PREFIX)) return toDataUrl(bytes);
    return `${base}/v1/blobs/${bytes.data.slice(BLOB_PREFIX.length)}`;
  };
}

async function inlineBytes(store: TraceStore, trace: Trace, account: string): Promise<WriteContext['addressOf']> {
  const found = await loadBytes(trace, (sha256) => store.blob(sha256, account));
  return (bytes) => {
    if (!bytes.data.startsWith(BLOB_PREFIX)) return toDataUrl(bytes);
    const known = found.get(bytes.data);
    return known && toDataUrl({ mimeType: bytes.mimeType, data: known.data });
  };
}

function toLostHeader(losses: Losses): Record<string, string> {
  const lost = losses.toList().map(({ field, count }) => `${encodeURI(field)}=${count}`);
  const text = lost.join(', ');
  if (text === '') return {};
  return { [LOST_HEADER]: text.length <= MAX_HEADER ? text : `${text.slice(0, MAX_HEADER)}...` };
}

function isRouteFormat(format: string): format is RouteFormat {
  return Object.hasOwn(FILES, format);
}

function unknownFormat(format: string): ApiError {
  const isKnown = EXPORT_FORMATS.some((known) => known === format);
  const way = isKnown
    ? `it takes several traces: "proctor export --format ${format}" writes it`
    : `it has to be one of ${Object.keys(FILES).join(', ')}`;
  return new ApiError('invalid_parameter', `format is ${JSON.stringify(format.slice(0, 60))}; ${way}.`, {
    param: 'format',
  });
}
