import { HEADER_MISMATCH } from './param-headers.ts';

/** Error codes of JSON-RPC and MCP that the transports use. Codes from -32000 down are free for implementations. */
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
  /** Id of the refused request, if known. */
  readonly id?: string | number | undefined;
  readonly data?: unknown;
}

/** The refusal of a request before it reaches a session: an HTTP status, and a JSON-RPC error as the body. */
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

  /** The same refusal with the id of the request. */
  withId(id: string | number | undefined): Refusal {
    return new Refusal(this.status, this.code, this.message, { ...this.options, id });
  }
}
