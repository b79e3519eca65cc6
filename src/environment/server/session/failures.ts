import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { isToolError } from '../../authoring/tool-result.ts';
import type { EnvironmentRequest } from './request.ts';

/**
 * Runs author code and turns failures into protocol errors. Bad arguments and a `ToolError` keep their message. For
 * other errors the client learns only that `what` failed, and the log contains the cause.
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

/** The protocol error for a failure of author code; see `orProtocolError`. */
export function toProtocolError(what: string, request: EnvironmentRequest, error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (isInvalidArguments(error)) return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
  if (isToolError(error)) return new ProtocolError(ProtocolErrorCode.InvalidRequest, error.message);
  request.reportFailure(what, error);
  return new ProtocolError(ProtocolErrorCode.InternalError, `${what} failed`);
}

/** The error for a name that does not exist or is hidden from the caller, who cannot tell these apart. */
export function unknownEntry(kind: 'tool' | 'resource' | 'prompt', name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${kind}: ${name}`);
}

/** Compares the name and not the class, because an environment may have loaded its own copy of this package. */
function isInvalidArguments(error: unknown): error is Error {
  return error instanceof Error && error.name === 'InvalidArgumentsError';
}
