import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isJsonObject } from '../../../../contract/json.ts';
import type { Report } from '../../cleanup.ts';
import { ANSWER_TIMEOUT_MS } from '../client-requests.ts';
import type { EnvironmentRequest } from '../request.ts';
import { type RoundTrip, SuspendedCall } from './suspended-call.ts';

/** Maximum number of waiting calls in one session. Beyond it the oldest is ended. */
const MAX_WAITING = 32;
/** The key that signs `requestState`. It is valid only in this process. */
const KEY = randomBytes(32);

/** The error for a retry with an invalid state. */
export const INVALID_STATE = {
  message:
    'Invalid or expired requestState: it is good for one retry of the request that it answered. Call again without it.',
  data: { reason: 'invalid_request_state' },
} as const;

/** The method, name and arguments of a request. Its retry must have the same. */
export interface RequestTarget {
  readonly method: 'tools/call' | 'prompts/get' | 'resources/read';
  readonly name: string;
  readonly arguments: unknown;
}

interface WaitingCall {
  readonly call: Pick<SuspendedCall<unknown>, 'abandon'>;
  readonly limit: NodeJS.Timeout;
}

/**
 * The waiting calls of a session on MCP 2026-07-28. There the server cannot send requests. Its question is the result
 * of the client's request, which the client sends again with the answers and a `requestState`. Meanwhile the author's
 * code waits, and then continues where it asked.
 *
 * A `requestState` is signed and identifies one call of one session. It is valid for one retry of the same request by
 * the same audience, and for ten minutes.
 */
export class InputRequired {
  readonly #sessionId: string;
  readonly #report: Report;
  readonly #waiting = new Map<string, WaitingCall>();

  constructor(sessionId: string, report: Report) {
    this.#sessionId = sessionId;
    this.#report = report;
  }

  /** Starts a call, or continues the one that `requestState` names. @throws ProtocolError for an invalid state. */
  async startOrResume<Result>(
    target: RequestTarget,
    mcp: ServerContext,
    request: EnvironmentRequest,
    run: (request: EnvironmentRequest) => Promise<Result>,
  ): Promise<Result | InputRequiredResult> {
    const fingerprint = () => fingerprintOf(target, request);
    const state = mcp.mcpReq.requestState<unknown>();
    const roundTrip: RoundTrip = { request, answers: { ...mcp.mcpReq.inputResponses } };
    const call =
      state === undefined
        ? new SuspendedCall<Result>(request, this.#report, run)
        : // The cast is safe: the state belongs to a request with the same target, so the result type is the same.
          (this.#take(state, fingerprint()) as SuspendedCall<Result>);
    const outcome = await call.advance(roundTrip);
    if (outcome.kind === 'ended') return outcome.result;
    return {
      resultType: 'input_required',
      inputRequests: outcome.inputRequests,
      requestState: this.#keep(call, fingerprint()),
    };
  }

  /** Ends every waiting call. */
  close(): void {
    for (const id of [...this.#waiting.keys()]) this.#abandon(id, 'The session has ended');
  }

  #keep(call: WaitingCall['call'], fingerprint: string): string {
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= MAX_WAITING && oldest !== undefined) {
      this.#abandon(oldest, `More than ${MAX_WAITING} calls of the session wait for answers of the client`);
    }
    const id = randomBytes(16).toString('base64url');
    const limit = setTimeout(
      () => this.#abandon(id, `The client has not answered within ${ANSWER_TIMEOUT_MS / 1000} seconds`),
      ANSWER_TIMEOUT_MS,
    );
    limit.unref();
    this.#waiting.set(id, { call, limit });
    return `${id}.${this.#signatureOf(id, fingerprint)}`;
  }

  #take(state: unknown, fingerprint: string): WaitingCall['call'] {
    const [id = '', signature = '', ...more] = typeof state === 'string' ? state.split('.') : [];
    const isGenuine = more.length === 0 && isSame(signature, this.#signatureOf(id, fingerprint));
    const waiting = isGenuine ? this.#waiting.get(id) : undefined;
    if (waiting === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, INVALID_STATE.message, INVALID_STATE.data);
    }
    this.#waiting.delete(id);
    clearTimeout(waiting.limit);
    return waiting.call;
  }

  #abandon(id: string, why: string): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.limit);
    waiting.call.abandon(new Error(why));
  }

  #signatureOf(id: string, fingerprint: string): string {
    return createHmac('sha256', KEY)
      .update(JSON.stringify([this.#sessionId, id, fingerprint]))
      .digest('base64url');
  }
}

function fingerprintOf({ method, name, arguments: args }: RequestTarget, { audience }: EnvironmentRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([method, name, audience, sorted(args ?? {})]))
    .digest('base64url');
}

/** A form of the JSON with sorted keys, because a client may send the same arguments in another order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return { object: keys.map((key) => [key, sorted(value[key])]) };
}

function isSame(shown: string, expected: string): boolean {
  const [a, b] = [Buffer.from(shown), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
