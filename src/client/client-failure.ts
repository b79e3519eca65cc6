import { setImmediate as nextTurn } from 'node:timers/promises';
import { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { type Boundary, BoundaryError, messageOf } from '../contract/errors.ts';
import { isJsonObject } from '../contract/json.ts';
import { LONGEST_TIMER_MS } from '../runtime/deadline.ts';
import type { CallOptions } from './environment-client.ts';
import type { EnvironmentLink } from './environment-link.ts';

/** The environment ended in a process that held other sessions too: any of them may be the reason. */
export class SharedEnvironmentError extends BoundaryError {}

/** The action that failed. */
export interface Attempt {
  readonly boundary: Boundary;
  /** As it continues "while": `running the setup of the scenario "count_to"`. */
  readonly doing: string;
  /** The limit in milliseconds; undefined where there was none. */
  readonly timeoutMs: number | undefined;
}

/** @param options `timeoutMs` of 0 or less is none. */
export function toAttempt(boundary: Attempt['boundary'], doing: string, { timeoutMs }: CallOptions): Attempt {
  const isLimited = timeoutMs !== undefined && timeoutMs > 0;
  return { boundary, doing, timeoutMs: isLimited ? Math.min(timeoutMs, LONGEST_TIMER_MS) : undefined };
}

/** True where the other end knows no such tool, or does not show it. */
export function isUnknownName(error: unknown): boolean {
  const cause = error instanceof BoundaryError ? error.cause : error;
  return cause instanceof ProtocolError && cause.code === ProtocolErrorCode.InvalidParams;
}

/** The way out for a hub of the harness that the other end does not know. */
export function harnessRemedy({ kind, harnessKey }: Pick<EnvironmentLink, 'kind' | 'harnessKey'>): string {
  if (kind !== 'url') return 'It has no scenarios, or none with this half: add them to the environment.';
  const key = harnessKey === undefined ? 'no harness key was given' : 'the harness key may be wrong';
  return `It has no scenarios, or ${key}: set "harnessKey" of this environment to the server's PROCTOR_HARNESS_KEY.`;
}

/** Lines of its log that explain an error of an environment which runs. */
const MAX_LOG_LINES = 20;

const HTTP_REMEDIES: Readonly<Record<number, string>> = {
  401: 'Give it the credential that the server asks for: "headers" of the environment in the configuration.',
  403: 'The server does not allow this: check "headers" of the environment, and the hosts that the server allows.',
  404: 'Its session is gone, as after a restart, or nothing serves MCP at this address: check the address and try again.',
};

/**
 * Words a failure of the connection or of the other end: which environment, what was being done, why, and the way out.
 * An internal error of the environment itself, which says nothing of its cause, comes with the last lines of its log.
 *
 * @param name the environment as it is shown: its name in quotes, or its label before it has said its name.
 */
export async function toBoundaryError(
  thrown: unknown,
  attempt: Attempt,
  name: string,
  link: FailedLink,
): Promise<BoundaryError> {
  if (thrown instanceof BoundaryError) return thrown;
  const isUnexplained = attempt.boundary === 'environment' && isUnexplainedError(thrown);
  // Its log comes on another pipe, where it was written first: by the next turn it has been read.
  if (isUnexplained) await nextTurn();
  const lastWords =
    isUnexplained && link.ending() === undefined ? link.lastWords().split('\n').slice(-MAX_LOG_LINES).join('\n') : '';
  const log = lastWords === '' ? '' : `\nThe last lines of its log:\n${lastWords}`;
  const message = `${describe(thrown, attempt, name, link)}${log}`;
  // The environment took too much memory, whatever the request was.
  const boundary = link.isOverMemory() ? 'environment' : attempt.boundary;
  const Failure = link.isShared === true && link.ending() !== undefined ? SharedEnvironmentError : BoundaryError;
  return new Failure(boundary, 'environment_failed', message, { cause: thrown });
}

function describe(thrown: unknown, { doing, timeoutMs }: Attempt, name: string, link: FailedLink): string {
  const ending = link.ending();
  if (isTimeout(thrown)) return `The environment ${name} did not finish ${doing} within ${timeoutMs} ms`;
  if (ending !== undefined) return `While ${doing}, the environment ${name} ${ending}`;
  if (thrown instanceof ProtocolError) return `The environment ${name} failed while ${doing}: ${thrown.message}`;
  if (thrown instanceof SdkHttpError) return describeHttp(thrown, doing, name);
  if (isClosed(thrown)) return `The connection to the environment ${name} was closed while ${doing}`;
  const remedy = link.kind === 'url' ? '. Check that it runs and that its address is right' : '';
  return `The environment ${name} could not be reached while ${doing}: ${causeOf(thrown)}${remedy}`;
}

type FailedLink = Pick<EnvironmentLink, 'ending' | 'isOverMemory' | 'isShared' | 'kind' | 'lastWords'>;

/** An initialize hook that fails with a `ToolError` gives its reason to a harness. */
function isUnexplainedError(thrown: unknown): boolean {
  if (!(thrown instanceof ProtocolError) || thrown.code !== ProtocolErrorCode.InternalError) return false;
  return !isJsonObject(thrown.data) || thrown.data.reason === undefined;
}

function isTimeout(thrown: unknown): boolean {
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout;
}

/** The SDK says "Not connected" with a plain Error. */
function isClosed(thrown: unknown): boolean {
  const isClosedCode =
    thrown instanceof SdkError &&
    (thrown.code === SdkErrorCode.ConnectionClosed || thrown.code === SdkErrorCode.NotConnected);
  return isClosedCode || (thrown instanceof Error && thrown.message === 'Not connected');
}

function describeHttp(error: SdkHttpError, doing: string, name: string): string {
  const text = typeof error.data.text === 'string' ? error.data.text.trim().slice(0, 300) : '';
  const said = text === '' ? '' : `: ${text}`;
  const remedy = HTTP_REMEDIES[error.status];
  return `The environment ${name} answered HTTP ${error.status} while ${doing}${said}${remedy ? `. ${remedy}` : ''}`;
}

/** Several addresses that all refuse are an AggregateError without a message of its own. */
function causeOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return thrown.errors.map(messageOf).join('; ');
  return messageOf(thrown);
}
