import type { AgentTool } from '../../contract/chat.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { DatasetFormat, DatasetSelect } from '../../contract/service/dataset.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { atifTrainingFormat } from '../../store/formats/atif/training-line.ts';
import type { ConversationOptions } from '../../store/formats/conversation.ts';
import type { LineFormat, PairFormat, TraceBytes } from '../../store/formats/format.ts';
import { axolotlFormat } from '../../store/formats/lines/axolotl.ts';
import { llamaFactoryFormat } from '../../store/formats/lines/llama-factory.ts';
import { openAiFormat } from '../../store/formats/lines/openai.ts';
import { openAiDpoFormat } from '../../store/formats/lines/openai-dpo.ts';
import { trlFormat } from '../../store/formats/lines/trl.ts';
import { Losses } from '../../store/formats/losses.ts';
import { validateJsonSchema } from '../../support/schema/json-schema.ts';
import type { DatasetParts } from './dataset-request.ts';

/** A line, or the reason why the trace has none. */
export type RenderedLine = { readonly line: JsonObject } | { readonly reason: string };

/** Renders traces as lines of one format. */
export class LineRenderer {
  readonly #format: LineFormat | PairFormat;
  readonly #parts: Pick<DatasetParts, 'traces'>;

  constructor(format: DatasetFormat, select: DatasetSelect, parts: Pick<DatasetParts, 'traces'>) {
    this.#format = createFormat(format, { reasoning: select.reasoning, fitsSchema });
    this.#parts = parts;
  }

  /** @param rejected the failed trace of a pair. */
  async render(trace: Trace, rejected: Trace | undefined): Promise<RenderedLine> {
    const addresses = new Map<string, string>();
    // A trace refers to large bytes. The first rendering shows which ones it needs; they are loaded, and it is rendered
    // again.
    for (;;) {
      const missing = new Map<string, TraceBytes>();
      const losses = new Losses();
      const context = {
        losses,
        addressOf: (bytes: TraceBytes) => {
          if (!bytes.data.startsWith(BLOB)) return `data:${bytes.mimeType};base64,${bytes.data}`;
          const known = addresses.get(bytes.data);
          if (known === undefined) missing.set(bytes.data, bytes);
          return known;
        },
      };
      const line = this.#lineOf(trace, rejected, context);
      if (missing.size === 0) return line === undefined ? { reason: reasonOf(losses) } : { line };
      for (const [reference, { mimeType }] of missing) {
        const blob = await this.#parts.traces.blob(reference.slice(BLOB.length));
        if (blob === undefined) return { reason: 'image_missing' };
        addresses.set(reference, `data:${mimeType};base64,${Buffer.from(blob.bytes).toString('base64')}`);
      }
    }
  }

  #lineOf(trace: Trace, rejected: Trace | undefined, context: Parameters<LineFormat['toLine']>[1]) {
    if ('toLine' in this.#format) return this.#format.toLine(trace, context);
    return rejected === undefined ? undefined : this.#format.toPairLine(trace, rejected, context);
  }
}

const BLOB = 'svc-blob://sha256/';

function createFormat(format: DatasetFormat, options: ConversationOptions): LineFormat | PairFormat {
  switch (format) {
    case 'openai':
      return openAiFormat(options);
    case 'openai-dpo':
      return openAiDpoFormat(options);
    case 'trl':
      return trlFormat(options);
    case 'axolotl':
      return axolotlFormat(options);
    case 'llama-factory':
      return llamaFactoryFormat(options);
    case 'atif':
      return atifTrainingFormat(options);
  }
}

/** The reason why a format has no line for a trace: the loss of the field `trace`. */
function reasonOf(losses: Losses): string {
  const why = losses.toList().find(({ field }) => field === 'trace')?.why ?? '';
  if (why.includes('images')) return 'image_content';
  if (why.includes('take turns')) return 'no_turns';
  return why.includes('pair') ? 'no_pair' : 'not_representable';
}

/** True when arguments match a tool's schema. An invalid schema accepts everything. */
function fitsSchema({ input_schema: schema }: AgentTool, args: JsonObject): boolean {
  try {
    return validateJsonSchema(sameSchema(schema), args).length === 0;
  } catch {
    return true;
  }
}

/** Returns one object for equal schemas. Each trace has copies of its own, and compiling is cached by object. */
function sameSchema(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema);
  const known = schemas.get(text);
  if (known !== undefined) return known;
  if (schemas.size >= MAX_SCHEMAS) schemas.clear();
  schemas.set(text, schema);
  return schema;
}

const schemas = new Map<string, JsonSchema>();
const MAX_SCHEMAS = 1_000;
