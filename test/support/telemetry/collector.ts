import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

const valueSchema = z.looseObject({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
  arrayValue: z.object({ values: z.array(z.looseObject({ stringValue: z.string().optional() })) }).optional(),
});
const attributesSchema = z.array(z.object({ key: z.string(), value: valueSchema }));
const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(
        z.object({
          scope: z.object({ name: z.string(), version: z.string().optional() }),
          spans: z.array(
            z.looseObject({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.int(),
              attributes: attributesSchema,
              events: z.array(z.looseObject({ name: z.string(), attributes: attributesSchema })),
              status: z.object({ code: z.int(), message: z.string().optional() }),
              startTimeUnixNano: z.string(),
              endTimeUnixNano: z.string(),
            }),
          ),
        }),
      ),
    }),
  ),
});

type Attributes = Readonly<Record<string, unknown>>;

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: string;
  readonly attributes: Attributes;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
  readonly status: { readonly code: number; readonly message?: string | undefined };
  readonly resource: Attributes;
  readonly durationMs: number;
}

export interface Collector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: CollectedSpan[];
  readonly headers: IncomingHttpHeaders[];
  readonly paths: string[];
  /** All that was received, as it came. */
  text(): string;
  /** One span by its name. */
  span(name: string): CollectedSpan;
  /** The names of a trace as a tree: children stand below their parent, in the order of their start. */
  tree(traceId: string): string[];
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];

/** A server that takes OTLP over HTTP at `base`, as JSON, until the test ends. */
export async function startCollector({
  status = 200,
  base = '',
}: {
  readonly status?: number;
  readonly base?: string;
} = {}): Promise<Collector> {
  const path = `${base}/v1/traces`;
  const paths: string[] = [];
  const spans: (CollectedSpan & { readonly startedAt: bigint })[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let received = '';
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    received += text;
    headers.push(request.headers);
    paths.push(request.url ?? '');
    if (request.url === path && status === 200) spans.push(...toSpans(text));
    response.writeHead(request.url === path ? status : 404, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    spans,
    headers,
    paths,
    text: () => received,
    span(name) {
      const [found, ...others] = spans.filter((span) => span.name === name);
      if (found === undefined || others.length > 0) {
        throw new Error(
          `${others.length === 0 ? 'No' : 'More than one'} span ${name}: ${spans.map((each) => each.name)}`,
        );
      }
      return found;
    },
    tree(traceId) {
      const own = spans.filter((span) => span.traceId === traceId);
      const isHere = new Set(own.map(({ spanId }) => spanId));
      const linesOf = (parent: string | undefined, depth: number): string[] =>
        own
          .filter(
            ({ parentSpanId }) =>
              (parentSpanId !== undefined && isHere.has(parentSpanId) ? parentSpanId : undefined) === parent,
          )
          .sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1))
          .flatMap((span) => [`${'  '.repeat(depth)}${span.name}`, ...linesOf(span.spanId, depth + 1)]);
      return linesOf(undefined, 0);
    },
  };
}

function toSpans(text: string): (CollectedSpan & { readonly startedAt: bigint })[] {
  return exportSchema.parse(JSON.parse(text)).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        name: span.name,
        kind: KINDS[span.kind] ?? '',
        attributes: toAttributes(span.attributes),
        events: span.events.map(({ name, attributes }) => ({ name, attributes: toAttributes(attributes) })),
        status: span.status,
        resource: toAttributes(resource.attributes),
        startedAt: BigInt(span.startTimeUnixNano),
        durationMs: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
      })),
    ),
  );
}

function toAttributes(list: z.infer<typeof attributesSchema>): Attributes {
  return Object.fromEntries(
    list.map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue, arrayValue } = value;
      const number = intValue === undefined ? doubleValue : Number(intValue);
      return [key, stringValue ?? number ?? boolValue ?? arrayValue?.values.map((each) => each.stringValue)];
    }),
  );
}
