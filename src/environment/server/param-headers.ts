import { ProtocolError } from '@modelcontextprotocol/server';
import { isJsonObject } from '../../contract/json.ts';
import { META } from '../../contract/names.ts';
import { preview } from '../../support/schema/json-schema.ts';
import type { Meta } from './audience.ts';

/** MCP's error code for headers that differ from the body. */
export const HEADER_MISMATCH = -32_020;

/** Headers of a request by their lower-case names. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A transport whose requests have HTTP headers. */
export interface HeaderSource {
  /** The headers of the open request with this id. Undefined if the request is over. */
  headersOf(id: string | number): RequestHeaders | undefined;
}

/** An argument of a tool that a header repeats, so that proxies can route a call without reading its body. */
export interface ParamHeader {
  /** The name in the schema, without the prefix. */
  readonly name: string;
  /** Property names that lead to the argument, outermost first. */
  readonly path: readonly string[];
  readonly isNumber: boolean;
}

export function isHeaderSource(transport: object | undefined): transport is HeaderSource {
  return transport !== undefined && 'headersOf' in transport;
}

/**
 * Checks that headers agree with the arguments that they repeat. This applies to MCP 2026-07-28 over HTTP and to tools
 * whose schema says so.
 *
 * @throws ProtocolError `HEADER_MISMATCH` that names the header.
 */
export function checkParamHeaders(
  schema: object,
  args: unknown,
  { id, _meta }: { readonly id: string | number; readonly _meta?: Meta | undefined },
  transport: object | undefined,
): void {
  const declared = paramHeadersOf(schema);
  if (declared.length === 0) return;
  const headers = isHeaderSource(transport) ? transport.headersOf(id) : passedParamHeaders(_meta);
  if (headers !== undefined) assertParamHeaders(declared, args, headers);
}

/** The arguments that headers repeat (`x-mcp-header` in the schema of a tool). Each schema is read once. */
function paramHeadersOf(schema: object): readonly ParamHeader[] {
  const known = KNOWN.get(schema);
  if (known !== undefined) return known;
  const found = [...findParamHeaders(schema, [])];
  KNOWN.set(schema, found);
  return found;
}

/**
 * Checks that each of these arguments has a header with the same value. An argument that is missing or null needs no
 * header, and a header for it is ignored (MCP 2026-07-28).
 *
 * @throws ProtocolError `HEADER_MISMATCH` that names the header.
 */
function assertParamHeaders(declared: readonly ParamHeader[], args: unknown, headers: RequestHeaders): void {
  for (const { name, path, isNumber } of declared) {
    const value = valueAt(args, path);
    if (!isRepeatable(value)) continue;
    const header = headers[`${PREFIX}${name.toLowerCase()}`];
    const decoded = decodeHeaderValue(header);
    if (decoded === String(value)) continue;
    if (isNumber && decoded !== undefined && DECIMAL.test(decoded) && Number(decoded) === value) continue;
    const said = header === undefined ? 'missing' : preview(header);
    const hint = `the header Mcp-Param-${name} is ${said}, arguments.${path.join('.')} is ${preview(value)}`;
    throw new ProtocolError(HEADER_MISMATCH, `Bad Request: ${hint}`);
  }
}

/**
 * The decoded value of a header. A value that a header cannot hold is sent as `=?base64?…?=`. Undefined if the header
 * is missing or its Base64 is not UTF-8.
 */
export function decodeHeaderValue(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const value = header.trim();
  const encoded = ENCODED.exec(value)?.[1];
  if (encoded === undefined) return value;
  if (!BASE64.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}

/** Only the headers that repeat arguments, to pass a call on to another process. */
export function onlyParamHeaders(headers: RequestHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => name.startsWith(PREFIX));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** The headers that a process before this one passed on. Undefined if there was no such process. */
function passedParamHeaders(meta: Meta | undefined): RequestHeaders | undefined {
  const passed = meta?.[META.paramHeaders];
  if (!isJsonObject(passed)) return undefined;
  return Object.fromEntries(Object.entries(passed).map(([name, value]) => [name, String(value)]));
}

const PREFIX = 'mcp-param-';
const KNOWN = new WeakMap<object, readonly ParamHeader[]>();
/** Allowed characters of a header name (RFC 9110, `token`). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const ENCODED = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;
const NUMBERS: ReadonlySet<unknown> = new Set(['integer', 'number']);
const REPEATABLE: ReadonlySet<unknown> = new Set(['string', 'boolean', ...NUMBERS]);

/** The annotation counts only on properties of a plain type. MCP's clients ignore tools that have it elsewhere. */
function* findParamHeaders(schema: unknown, path: readonly string[]): Generator<ParamHeader> {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return;
  for (const [key, property] of Object.entries(schema.properties)) {
    if (!isJsonObject(property)) continue;
    const name = property['x-mcp-header'];
    const at = [...path, key];
    if (typeof name === 'string' && TOKEN.test(name) && REPEATABLE.has(property.type)) {
      yield { name, path: at, isNumber: NUMBERS.has(property.type) };
    }
    yield* findParamHeaders(property, at);
  }
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

/** True if a header can repeat the value. The schema itself refuses other values. */
function isRepeatable(value: unknown): value is string | number | boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value === 'string' || typeof value === 'boolean';
}
