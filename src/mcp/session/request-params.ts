import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../contract/errors.ts';
import { isJsonObject } from '../../contract/json.ts';
import { preview } from '../../schema/json-schema.ts';

export type RequestHandler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/** Says in a sentence what is wrong with parameters, of which the SDK makes an internal error, in pages of its own words. */
export function withReadableFaults(method: string, handler: RequestHandler): RequestHandler {
  return (request, context) => {
    try {
      return handler(request, context);
    } catch (error) {
      // A synchronous throw comes from the check of the parameters: handlers answer by a promise.
      throw error instanceof ProtocolError ? error : invalidParams(method, describeIssues(error));
    }
  };
}

/** Checks a tool's name and arguments before the SDK does: what a model gets wrong should read like the rest of what it is told. */
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

/** The SDK gives what its schemas find as JSON: a list of issues, each with a path from the request on. */
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
