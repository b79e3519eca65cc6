import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { isToolError } from '../../environment/tool-result.ts';
import type { EnvironmentRequest } from './request.ts';

/**
 * Runs author code whose failure is a protocol error: in its own words for bad arguments and for a `ToolError`,
 * otherwise that `what` failed and nothing else, with the cause in the log.
 */
export async function orProtocolError<T>(
  what: string,
  request: EnvironmentRequest,
  run: () => T | Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toProtocolError(what, request, error);
  }
}

/** The protocol error that a failure of author code is told by; see `orProtocolError`. */
export function toProtocolError(what: string, request: EnvironmentRequest, error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (isInvalidArguments(error)) return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
  if (isToolError(error)) return new ProtocolError(ProtocolErrorCode.InvalidRequest, error.message);
  request.reportFailure(what, error);
  return new ProtocolError(ProtocolErrorCode.InternalError, `${what} failed`);
}

/** The error for a name that does not exist, or is hidden from who asks: the two cannot be told apart. */
export function unknownEntry(kind: 'tool' | 'resource' | 'prompt', name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${kind}: ${name}`);
}

/** By name, not by class: an environment may have loaded its own copy of this package. */
function isInvalidArguments(error: unknown): error is Error {
  return error instanceof Error && error.name === 'InvalidArgumentsError';
}
