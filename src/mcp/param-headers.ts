import { ProtocolError } from '@modelcontextprotocol/server';
import { isJsonObject } from '../contract/json.ts';
import { META } from '../contract/names.ts';
import { preview } from '../schema/json-schema.ts';
import type { Meta } from './audience.ts';

/** MCP's code for headers that say something else than the body. */
export const HEADER_MISMATCH = -32_020;

/** Headers of a request by their names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A transport whose requests have headers. */
export interface HeaderSource {
  /** Those that the open request with this id came with; undefined for one that is over. */
  headersOf(id: string | number): RequestHeaders | undefined;
}

/** An argument of a tool that a header repeats, so that whoever stands between can route a call without reading its body. */
export interface ParamHeader {
  /** As the schema spells it, without the prefix. */
  readonly name: string;
  /** Where the argument is: the names of properties, outermost first. */
  readonly path: readonly string[];
  readonly isNumber: boolean;
}

export function isHeaderSource(transport: object | undefined): transport is HeaderSource {
  return transport !== undefined && 'headersOf' in transport;
}

/**
 * On 2026-07-28 over HTTP, headers repeat arguments of a tool whose schema says so: holds that the two agree.
 *
 * @throws ProtocolError `HEADER_MISMATCH`, naming the header.
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

/** The arguments that headers repeat (`x-mcp-header` in the schema of a tool), read once for each schema. */
function paramHeadersOf(schema: object): readonly ParamHeader[] {
  const known = KNOWN.get(schema);
  if (known !== undefined) return known;
  const found = [...findParamHeaders(schema, [])];
  KNOWN.set(schema, found);
  return found;
}

/**
 * Holds that each argument with a header has one that says the same. An argument that is absent or null has none, and
 * one that comes all the same means nothing (MCP 2026-07-28).
 *
 * @throws ProtocolError `HEADER_MISMATCH`, naming the header.
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
 * The value of a header. A value that a header cannot hold comes as `=?base64?…?=`. Undefined without the header, or when
 * the Base64 is not UTF-8.
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

/** The headers of a call that repeat arguments, for a process that the call is passed on to. */
export function onlyParamHeaders(headers: RequestHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => name.startsWith(PREFIX));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** Those that the process before this one has passed on; undefined where a call came by another way. */
function passedParamHeaders(meta: Meta | undefined): RequestHeaders | undefined {
  const passed = meta?.[META.paramHeaders];
  if (!isJsonObject(passed)) return undefined;
  return Object.fromEntries(Object.entries(passed).map(([name, value]) => [name, String(value)]));
}

const PREFIX = 'mcp-param-';
const KNOWN = new WeakMap<object, readonly ParamHeader[]>();
/** Characters of a header name (RFC 9110, `token`). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const ENCODED = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;
const NUMBERS: ReadonlySet<unknown> = new Set(['integer', 'number']);
const REPEATABLE: ReadonlySet<unknown> = new Set(['string', 'boolean', ...NUMBERS]);

/** Anywhere else than on a property of a plain type the annotation means nothing: MCP's clients leave such a tool out. */
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

/** True for what a header can repeat. What the schema does not take is refused by the schema. */
function isRepeatable(value: unknown): value is string | number | boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value === 'string' || typeof value === 'boolean';
}
