import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { ApiError } from '../../../contract/errors.ts';
import { endReply } from '../../../support/http/reply/end-reply.ts';
import type { Report } from '../cleanup.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';

/** Sends a refusal, unless an answer has begun. */
export function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(toErrorReply(refusal));
  response.writeHead(refusal.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...refusal.options.headers,
  });
  endReply(response, body);
}

/** Answers with a thrown error. Errors other than refusals are reported and sent as an internal error. */
export function refuseFailed(request: IncomingMessage, response: ServerResponse, thrown: unknown, report: Report) {
  if (thrown instanceof Refusal) return sendRefusal(response, thrown);
  if (thrown instanceof ApiError) {
    const { status, message, headers } = thrown;
    return sendRefusal(response, new Refusal(status, RPC_CODE.refused, message, { headers }));
  }
  // The client disconnected while it was sending its body.
  if (request.errored !== null || response.destroyed) return;
  report(`A request failed: ${inspect(thrown)}`);
  sendRefusal(response, new Refusal(500, RPC_CODE.internalError, 'Internal error'));
}

/** A refusal as a JSON-RPC reply. Its id is null if the id of the request is unknown. */
export function toErrorReply({ code, message, options }: Refusal): object {
  const { id, data } = options;
  return { jsonrpc: '2.0', id: id ?? null, error: { code, message, ...(data === undefined ? {} : { data }) } };
}
