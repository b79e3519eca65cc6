import { z } from 'zod';
import { errorBodySchema } from '../../../contract/error-shapes.ts';
import { ERRORS, type ReplyErrorCode } from '../../../contract/errors.ts';
import { isJsonObject, type JsonSchema } from '../../../contract/json.ts';
import type { Mount, Route } from './route.ts';

export interface OpenApiOptions {
  readonly title: string;
  readonly version: string;
  /** False when the server requires no keys. */
  readonly hasKeys: boolean;
  /** False when browsers cannot sign in. */
  readonly hasBrowsers?: boolean;
  readonly mounts?: readonly Mount[];
}

/**
 * Creates the OpenAPI 3.1 document of a server from the schemas that validate its requests. It leaves out pages and
 * their data.
 */
export function createOpenApiDocument(routes: readonly Route[], options: OpenApiOptions): JsonSchema {
  const schemas: Record<string, JsonSchema> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    if (route.access === 'page' || route.access === 'browser') continue;
    const path = route.path.replace(/[:*](\w+)/g, '{$1}');
    const operations = paths[path] ?? {};
    paths[path] = operations;
    operations[route.method.toLowerCase()] = toOperation(route, schemas, options);
  }
  const security = options.hasKeys ? { security: [{ key: [] }] } : {};
  for (const { path: first, operations = {}, furtherOperations = {}, hasOwnSecrets } of options.mounts ?? []) {
    const own = hasOwnSecrets ? { security: [] } : security;
    for (const [path, byMethod] of Object.entries({ [first]: operations, ...furtherOperations })) {
      const described = Object.entries(byMethod).map(([method, operation]) => [method, { ...operation, ...own }]);
      if (described.length > 0) paths[path] = Object.fromEntries(described);
    }
  }
  schemas.Error = toComponent('Error', errorBodySchema, 'output', schemas);
  return {
    openapi: '3.1.0',
    info: { title: options.title, version: options.version },
    paths,
    components: { schemas, headers: COMMON_HEADERS, ...toSecuritySchemes(options) },
  };
}

const text = (description: string): JsonSchema => ({ description, schema: { type: 'string' } });
const number = (description: string): JsonSchema => ({ description, schema: { type: 'integer' } });

/** Headers of every reply. */
const COMMON_HEADERS: Readonly<Record<string, JsonSchema>> = {
  'X-Request-Id': text('The id of the request, which is in the log too'),
  'Retry-After': number('Seconds after which it is worth to try again'),
  'X-Should-Retry': text('`false`: the same request will be refused again'),
  'WWW-Authenticate': text('`Bearer`'),
  Allow: text('The methods that the path takes'),
};

const HEADERS_OF_STATUS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  409: ['X-Should-Retry'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

function toSecuritySchemes({ hasKeys, hasBrowsers = false }: OpenApiOptions): JsonSchema {
  if (!hasKeys) return {};
  const key = { type: 'http', scheme: 'bearer', description: 'An API key' };
  const browser = {
    type: 'apiKey',
    in: 'cookie',
    name: 'proctor_session',
    description: 'A browser that has signed in; what changes something also carries the token of its pages',
  };
  return { securitySchemes: { key, ...(hasBrowsers ? { browser } : {}) } };
}

function toOperation(route: Route, schemas: Record<string, JsonSchema>, options: OpenApiOptions): JsonSchema {
  const name = toOperationId(route);
  return {
    operationId: name,
    summary: route.summary,
    ...toSecurity(route, options),
    parameters: [
      ...toPathParameters(route.path),
      ...toQueryParameters(route.query),
      ...toPrefixParameters(route.about?.queryPrefixes ?? {}),
      ...toHeaderParameters(route.about?.requestHeaders ?? {}),
    ],
    ...(route.request === undefined
      ? {}
      : {
          requestBody: {
            required: !route.request.safeParse(undefined).success,
            content: jsonContent(toComponent(`${name}_request`, route.request, 'input', schemas)),
          },
        }),
    ...(route.fileBytes === undefined ? {} : { requestBody: FILE_BODY }),
    responses: { ...toSuccesses(route, name, schemas), ...toFailures(route, options) },
  };
}

const FILE_BODY: JsonSchema = {
  required: true,
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
};

/** Security of a route. An empty alternative means "no key", for routes that need none on a loopback bind. */
function toSecurity({ access }: Route, { hasKeys, hasBrowsers = false }: OpenApiOptions): JsonSchema {
  if (!hasKeys || access === 'public' || access === 'page') return {};
  if (access === 'loopback') return { security: [{}, { key: [] }] };
  if (access === 'key-or-browser' && hasBrowsers) return { security: [{ key: [] }, { browser: [] }] };
  return { security: [{ key: [] }] };
}

function toSuccesses(route: Route, name: string, schemas: Record<string, JsonSchema>): JsonSchema {
  const { statuses = { 200: 'OK' }, replyHeaders = {}, contentType } = route.about ?? {};
  const ownHeaders = Object.entries(replyHeaders).map(([header, description]) => [header, text(description)]);
  return Object.fromEntries(
    Object.entries(statuses).map(([status, description]) => {
      const headers = { ...toHeaderReferences(['X-Request-Id']), ...Object.fromEntries(ownHeaders) };
      if (status === '204') return [status, { description, headers }];
      const body =
        contentType !== undefined
          ? { [contentType]: { schema: { type: 'string' } } }
          : route.response === undefined
            ? undefined
            : jsonContent(toComponent(`${name}_response`, route.response, 'output', schemas));
      return [status, { description, headers, ...(body === undefined ? {} : { content: body }) }];
    }),
  );
}

/** Error replies by status, with the codes of the route. All other errors have the same form. */
function toFailures(route: Route, options: OpenApiOptions): JsonSchema {
  const byStatus = new Map<number, Set<ReplyErrorCode>>();
  for (const code of errorsOf(route, options)) {
    const { status } = ERRORS[code];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  const content = jsonContent({ $ref: '#/components/schemas/Error' });
  const failures = [...byStatus].map(([status, codes]) => {
    const headers = toHeaderReferences(['X-Request-Id', ...(HEADERS_OF_STATUS[status] ?? [])]);
    return [status, { description: [...codes].map((code) => `\`${code}\``).join(', '), headers, content }];
  });
  const headers = toHeaderReferences(['X-Request-Id']);
  return { ...Object.fromEntries(failures), default: { description: 'Any other error', headers, content } };
}

function errorsOf({ method, path, access, query, request, fileBytes, about = {} }: Route, { hasKeys }: OpenApiOptions) {
  const asksForKey = hasKeys && access !== 'public' && access !== 'page';
  const hasInput = query !== undefined || request !== undefined || about.requestHeaders !== undefined;
  const isGuarded = path !== '/healthz' && path !== '/readyz';
  const codes: ReplyErrorCode[] = [
    ...(request === undefined ? [] : (['invalid_json', 'request_too_large', 'unsupported_media_type'] as const)),
    ...(fileBytes === undefined ? [] : (['request_too_large'] as const)),
    ...(hasInput ? (['invalid_parameter'] as const) : []),
    ...(asksForKey ? (['invalid_api_key', 'rate_limit_exceeded'] as const) : []),
    ...(isGuarded ? (['forbidden_origin'] as const) : []),
    ...(method === 'GET' ? [] : (['shutting_down'] as const)),
    ...(about.errors ?? []),
  ];
  return codes.sort((a, b) => ERRORS[a].status - ERRORS[b].status);
}

function toHeaderReferences(names: readonly string[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** `GET /v1/traces/:trace_id` → `get_v1_traces_trace_id`. */
function toOperationId(route: Route): string {
  return `${route.method.toLowerCase()}${route.path}`.replace(/\W+/g, '_').replace(/_$/, '');
}

function toPathParameters(path: string): readonly JsonSchema[] {
  return [...path.matchAll(/[:*](\w+)/g)].map(([, name]) => ({
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

/** Parameters for query values whose names share a prefix. Each becomes an object with one property per value. */
function toPrefixParameters(prefixes: Readonly<Record<string, string>>): readonly JsonSchema[] {
  return Object.entries(prefixes).map(([prefix, description]) => ({
    name: prefix.replace(/\W+$/, ''),
    in: 'query',
    required: false,
    description,
    style: 'form',
    explode: true,
    schema: {
      type: 'object',
      patternProperties: { [`^${prefix.replaceAll('.', '\\.')}`]: { type: 'string' } },
      additionalProperties: false,
    },
  }));
}

function toHeaderParameters(headers: Readonly<Record<string, string>>): readonly JsonSchema[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
}

function jsonContent(schema: JsonSchema): JsonSchema {
  return { 'application/json': { schema } };
}

/** Moves the definitions of a schema next to it, because `#` refers to the whole document here. */
function toComponent(
  name: string,
  schema: z.ZodType,
  io: 'input' | 'output',
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  const { $schema: _, $defs = {}, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  const targets = new Map<string, JsonSchema>();
  for (const [key, definition] of Object.entries($defs)) {
    const target = `#/$defs/${key}`;
    // A recursive definition is replaced by "any JSON value", because type generators would not terminate on it.
    const isAnyJson = JSON.stringify(definition).includes(`"$ref":"${target}"`);
    targets.set(target, isAnyJson ? ANY_JSON : { $ref: `#/components/schemas/${name}${key}` });
    if (!isAnyJson) schemas[`${name}${key}`] = definition;
  }
  for (const key of Object.keys($defs)) {
    const moved = schemas[`${name}${key}`];
    // The definition is an object, so the result is one too.
    if (moved !== undefined) schemas[`${name}${key}`] = withTargets(moved, targets) as JsonSchema;
  }
  return withTargets(rest, targets) as JsonSchema;
}

const ANY_JSON: JsonSchema = { description: 'Any JSON value' };

/** Replaces references. A description beside a reference stays. */
function withTargets(value: unknown, targets: ReadonlyMap<string, JsonSchema>): unknown {
  if (Array.isArray(value)) return value.map((item) => withTargets(item, targets));
  if (!isJsonObject(value)) return value;
  const { $ref, ...others } = value;
  const target = typeof $ref === 'string' ? targets.get($ref) : undefined;
  const entries = Object.entries(target === undefined ? value : others);
  return { ...target, ...Object.fromEntries(entries.map(([key, item]) => [key, withTargets(item, targets)])) };
}
