import { META } from '../../contract/names.ts';
import { isRequest } from '../server/json-rpc.ts';
import { isHeaderSource, onlyParamHeaders } from '../server/param-headers.ts';
import { type Message, metaOf, type Request, type Transport } from './messages.ts';

/**
 * Copies the parameter headers of a tool call into its `_meta`, because the child process does not see HTTP headers.
 */
export function withParamHeaders(message: Message, front: Transport): Message {
  if (!isRequest(message) || message.method !== 'tools/call' || !isHeaderSource(front)) return message;
  const passed = onlyParamHeaders(front.headersOf(message.id) ?? {});
  const _meta = { ...metaOf(message), [META.paramHeaders]: passed };
  return { ...message, params: { ...message.params, _meta } } as Request;
}
