import { setImmediate as nextTurn } from 'node:timers/promises';
import { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { Boundary } from '../../contract/error-shapes.ts';
import { BoundaryError, messageOf, SANDBOX_ENDED } from '../../contract/errors.ts';
import { isJsonObject } from '../../contract/json.ts';
import { META } from '../../contract/names.ts';
import {
  type SandboxEnd,
  type SandboxRefusal,
  sandboxEndSchema,
  sandboxFaultSchema,
  sandboxRefusalSchema,
} from '../../contract/scenario.ts';
import { LONGEST_TIMER_MS } from '../../support/runtime/deadline.ts';
import type { CallOptions } from './environment-client.ts';
import type { EnvironmentLink } from './environment-link.ts';

/** The environment ended in a process that it shared with other sessions. Any of these sessions may have caused it. */
export class SharedEnvironmentError extends BoundaryError {}

/** The action that failed and its limits. */
export interface Attempt {
  readonly boundary: Boundary;
  /** A description that continues "while", such as `running the setup of the scenario "count_to"`. */
  readonly doing: string;
  /** The limit in milliseconds. Undefined if there was no limit. */
  readonly timeoutMs: number | undefined;
}

/** @param options a `timeoutMs` of 0 or less means no limit. */
export function toAttempt(boundary: Attempt['boundary'], doing: string, { timeoutMs }: CallOptions): Attempt {
  const isLimited = timeoutMs !== undefined && timeoutMs > 0;
  return { boundary, doing, timeoutMs: isLimited ? Math.min(timeoutMs, LONGEST_TIMER_MS) : undefined };
}

/** True if the environment does not know the tool or hides it. */
export function isUnknownName(error: unknown): boolean {
  const cause = error instanceof BoundaryError ? error.cause : error;
  return cause instanceof ProtocolError && cause.code === ProtocolErrorCode.InvalidParams;
}

/** Advice for the error that an environment does not know a hub of the harness. */
export function harnessRemedy({ kind, harnessKey }: Pick<EnvironmentLink, 'kind' | 'harnessKey'>): string {
  if (kind !== 'url') return 'It has no scenarios, or none with this half: add them to the environment.';
  const key = harnessKey === undefined ? 'no harness key was given' : 'the harness key may be wrong';
  return `It has no scenarios, or ${key}: set "harnessKey" of this environment to the server's PROCTOR_HARNESS_KEY.`;
}

const sandboxEndsSchema = z.array(sandboxEndSchema);
const sandboxRefusalsSchema = z.array(sandboxRefusalSchema);

/**
 * Reads the facts about sandboxes in the result of a call: their ends, and the failure of the run if one was lost. A sandbox that
 * the agent has ended is the agent's failure; anything else is one of the infrastructure.
 */
export function readSandboxMeta(
  result: object,
  doing: string,
  name: string,
): {
  readonly ends: readonly SandboxEnd[] | undefined;
  readonly refusals: readonly SandboxRefusal[];
  readonly failure: BoundaryError | undefined;
} {
  const meta = '_meta' in result && isJsonObject(result._meta) ? result._meta : {};
  const ends = sandboxEndsSchema.safeParse(meta[META.sandboxes]).data;
  const fault = sandboxFaultSchema.safeParse(meta[META.sandboxFault]).data;
  const refusals = sandboxRefusalsSchema.safeParse(meta[META.sandboxRefusals]).data ?? [];
  if (fault === undefined) return { ends, refusals, failure: undefined };
  if (fault.by === 'agent') {
    const message = `The agent has ended its own sandbox: it ${fault.reason}`;
    return { ends, refusals, failure: new BoundaryError('agent', SANDBOX_ENDED, message) };
  }
  const message = `While ${doing}, the environment ${name} had no sandbox: ${fault.reason}`;
  return { ends, refusals, failure: new BoundaryError('environment', 'environment_failed', message) };
}

/** Maximum number of log lines that an error message shows. */
const MAX_LOG_LINES = 20;

const HTTP_REMEDIES: Readonly<Record<number, string>> = {
  401: 'Give it the credential that the server asks for: "headers" of the environment in the configuration.',
  403: 'The server does not allow this: check "headers" of the environment, and the hosts that the server allows.',
  404: 'Its session is gone, as after a restart, or nothing serves MCP at this address: check the address and try again.',
};

/**
 * Turns a failure into an error that names the environment, the action, the cause and a remedy. If the environment
 * answers an internal error without a cause, the last lines of its log are added.
 *
 * @param name is the environment's name in quotes, or its label before the handshake.
 */
export async function toBoundaryError(
  thrown: unknown,
  attempt: Attempt,
  name: string,
  link: FailedLink,
): Promise<BoundaryError> {
  if (thrown instanceof BoundaryError) return thrown;
  const isUnexplained = attempt.boundary === 'environment' && isUnexplainedError(thrown);
  // The log arrives on another pipe and was written first, so it has been read by the next turn of the event loop.
  if (isUnexplained) await nextTurn();
  const lastWords =
    isUnexplained && link.ending() === undefined ? link.lastWords().split('\n').slice(-MAX_LOG_LINES).join('\n') : '';
  const log = lastWords === '' ? '' : `\nThe last lines of its log:\n${lastWords}`;
  const message = `${describe(thrown, attempt, name, link)}${log}`;
  // Too much memory is always the environment's fault, no matter which request was running.
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

/**
 * True for an internal error without a reason. An initialize hook that fails with a `ToolError` gives the harness its
 * reason.
 */
function isUnexplainedError(thrown: unknown): boolean {
  if (!(thrown instanceof ProtocolError) || thrown.code !== ProtocolErrorCode.InternalError) return false;
  return !isJsonObject(thrown.data) || thrown.data.reason === undefined;
}

function isTimeout(thrown: unknown): boolean {
  return thrown instanceof SdkError && thrown.code === SdkErrorCode.RequestTimeout;
}

/** True if the connection is closed. For "Not connected" the SDK throws a plain Error. */
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

/** If all addresses of a host refuse the connection, Node.js throws an AggregateError without a message. */
function causeOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return thrown.errors.map(messageOf).join('; ');
  return messageOf(thrown);
}
