import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../../contract/errors.ts';
import { isJsonObject } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';

export type RequestHandler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/** Replaces the SDK's error about parameters, a long internal error, with one readable sentence. */
export function withReadableFaults(method: string, handler: RequestHandler): RequestHandler {
  return (request, context) => {
    try {
      return handler(request, context);
    } catch (error) {
      // Handlers return promises, so a synchronous error comes from the check of the parameters.
      throw error instanceof ProtocolError ? error : invalidParams(method, describeIssues(error));
    }
  };
}

/** Checks a tool's name and arguments before the SDK does, so that a model gets a readable message. */
export function withCheckedCall(handler: RequestHandler): RequestHandler {
  return (request, context) => {
    const { name, arguments: args } = request.params ?? {};
    if (typeof name !== 'string') throw invalidParams('tools/call', `name: must be a string, got ${preview(name)}`);
    if (args !== undefined && !isJsonObject(args)) {
      throw invalidParams('tools/call', `arguments: must be an object, got ${preview(args)}`);
    }
    return handler(request, context);
  };
}

function invalidParams(method: string, problem: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid params of ${method}: ${problem}`);
}

/**
 * Describes the issues in the SDK's error. Its message is a JSON list of issues, with paths that start at the request.
 */
function describeIssues(error: unknown): string {
  const issues = parseIssues(messageOf(error));
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ') || 'not valid';
}

function parseIssues(text: string): readonly { readonly path: string; readonly message: string }[] {
  try {
    const issues: unknown = JSON.parse(text);
    return (Array.isArray(issues) ? issues : []).map(({ path, message }) => ({
      path: (Array.isArray(path) ? path.filter((part, index) => index > 0 || part !== 'params') : []).join('.'),
      message: String(message),
    }));
  } catch {
    return [];
  }
}
