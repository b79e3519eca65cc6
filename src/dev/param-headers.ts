import { META } from '../contract/names.ts';
import { isRequest } from '../mcp/json-rpc.ts';
import { isHeaderSource, onlyParamHeaders } from '../mcp/param-headers.ts';
import { type Message, metaOf, type Request, type Transport } from './messages.ts';

/** The process has no part in HTTP: what the headers of a call repeat goes with the call. */
export function withParamHeaders(message: Message, front: Transport): Message {
  if (!isRequest(message) || message.method !== 'tools/call' || !isHeaderSource(front)) return message;
  const passed = onlyParamHeaders(front.headersOf(message.id) ?? {});
  const _meta = { ...metaOf(message), [META.paramHeaders]: passed };
  return { ...message, params: { ...message.params, _meta } } as Request;
}
