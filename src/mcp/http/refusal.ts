import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { ApiError } from '../../contract/errors.ts';
import type { Report } from '../cleanup.ts';
import { HEADER_MISMATCH } from '../param-headers.ts';

/** Codes of JSON-RPC and MCP that this transport answers with. The range from -32000 is the implementation's. */
export const RPC_CODE = {
  parseError: -32_700,
  invalidRequest: -32_600,
  invalidParams: -32_602,
  methodNotFound: -32_601,
  internalError: -32_603,
  refused: -32_000,
  sessionNotFound: -32_001,
  headerMismatch: HEADER_MISMATCH,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const;

export interface RefusalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the request that is refused, where it is known. */
  readonly id?: string | number | undefined;
  readonly data?: unknown;
}

/** A request that is refused before any session sees it: an HTTP status, and a JSON-RPC error as the body. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: number;
  readonly options: RefusalOptions;

  constructor(status: number, code: number, message: string, options: RefusalOptions = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.options = options;
  }

  /** The same refusal, as an answer to the request with this id. */
  withId(id: string | number | undefined): Refusal {
    return new Refusal(this.status, this.code, this.message, { ...this.options, id });
  }
}

/** Answers with a refusal, unless an answer has begun. */
export function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(toErrorReply(refusal));
  response.writeHead(refusal.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...refusal.options.headers,
  });
  response.end(body);
}

/** Answers with what was thrown on the way to an answer; what is no refusal is reported, and told as an internal error. */
export function refuseFailed(request: IncomingMessage, response: ServerResponse, thrown: unknown, report: Report) {
  if (thrown instanceof Refusal) return sendRefusal(response, thrown);
  if (thrown instanceof ApiError) {
    const { status, message, headers } = thrown;
    return sendRefusal(response, new Refusal(status, RPC_CODE.refused, message, { headers }));
  }
  if (isNobodysFault(request, response)) return;
  report(`A request failed: ${inspect(thrown)}`);
  sendRefusal(response, new Refusal(500, RPC_CODE.internalError, 'Internal error'));
}

/** True where a client went away while it sent its body. */
export function isNobodysFault(request: IncomingMessage, response: ServerResponse): boolean {
  return request.errored !== null || response.destroyed;
}

/** A refusal as the JSON-RPC reply that it is; its id is null where that of the request is not known. */
export function toErrorReply({ code, message, options }: Refusal): object {
  const { id, data } = options;
  return { jsonrpc: '2.0', id: id ?? null, error: { code, message, ...(data === undefined ? {} : { data }) } };
}
