import { z } from 'zod';
import { errorBodySchema } from '../contract/errors.ts';
import { isJsonObject, type JsonSchema } from '../contract/json.ts';
import type { Route } from './route.ts';

export interface OpenApiOptions {
  readonly title: string;
  readonly version: string;
  /** False: the server asks nobody for a key. */
  readonly hasKeys: boolean;
}

/** The OpenAPI 3.1 document of a server, made of the schemas that validate its requests. Pages are not part of it. */
export function createOpenApiDocument(routes: readonly Route[], options: OpenApiOptions): JsonSchema {
  const schemas: Record<string, JsonSchema> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    if (route.access === 'page') continue;
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const operations = paths[path] ?? {};
    paths[path] = operations;
    operations[route.method.toLowerCase()] = toOperation(route, schemas, options.hasKeys);
  }
  schemas.Error = toComponent('Error', errorBodySchema, 'output', schemas);
  return {
    openapi: '3.1.0',
    info: { title: options.title, version: options.version },
    paths,
    components: {
      schemas,
      ...(options.hasKeys ? { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } } : {}),
    },
  };
}

function toOperation(route: Route, schemas: Record<string, JsonSchema>, hasKeys: boolean): JsonSchema {
  const name = toOperationId(route);
  const asksForKey = hasKeys && (route.access === 'key' || route.access === 'key-or-browser');
  return {
    operationId: name,
    summary: route.summary,
    ...(asksForKey ? { security: [{ key: [] }] } : {}),
    parameters: [...toPathParameters(route.path), ...toQueryParameters(route.query)],
    ...(route.request === undefined
      ? {}
      : {
          requestBody: {
            required: !route.request.safeParse(undefined).success,
            content: jsonContent(toComponent(`${name}_request`, route.request, 'input', schemas)),
          },
        }),
    responses: {
      '200': {
        description: 'OK',
        ...(route.response === undefined
          ? {}
          : { content: jsonContent(toComponent(`${name}_response`, route.response, 'output', schemas)) }),
      },
      default: { description: 'An error', content: jsonContent({ $ref: '#/components/schemas/Error' }) },
    },
  };
}

/** `GET /v1/traces/:trace_id` → `get_v1_traces_trace_id`. */
function toOperationId(route: Route): string {
  return `${route.method.toLowerCase()}${route.path}`.replace(/\W+/g, '_').replace(/_$/, '');
}

function toPathParameters(path: string): readonly JsonSchema[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function toQueryParameters(query: z.ZodObject | undefined): readonly JsonSchema[] {
  if (query === undefined) return [];
  return Object.entries(query.shape).map(([name, schema]) => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
    return { name, in: 'query', required: false, schema: rest };
  });
}

function jsonContent(schema: JsonSchema): JsonSchema {
  return { 'application/json': { schema } };
}

/** A schema with its own definitions moved beside it, because `#` is the whole document here. */
function toComponent(
  name: string,
  schema: z.ZodType,
  io: 'input' | 'output',
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  const { $schema: _, $defs, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  for (const [key, definition] of Object.entries($defs ?? {})) {
    schemas[`${name}${key}`] = withReferences(definition, name) as JsonSchema; // An object stays an object.
  }
  return withReferences(rest, name) as JsonSchema;
}

function withReferences(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, name));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === '$ref' && typeof item === 'string'
        ? item.replace('#/$defs/', `#/components/schemas/${name}`)
        : withReferences(item, name),
    ]),
  );
}
