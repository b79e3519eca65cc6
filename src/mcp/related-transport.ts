import type { JSONRPCMessage, TransportSendOptions } from '@modelcontextprotocol/server';
import { StdioTransport } from './stdio/stdio-transport.ts';

/** The key of `_meta` that says to which request of the client a message belongs. Only between processes of our own. */
export const RELATED_REQUEST = 'svc/related_request';

/**
 * MCP over streams whose other end passes messages on to a connection that answers each request on a stream of its own:
 * what belongs to a request says so.
 */
export class RelatedTransport extends StdioTransport {
  override send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const related = options?.relatedRequestId;
    if (related === undefined || !('method' in message)) return super.send(message);
    const _meta = { ...message.params?._meta, [RELATED_REQUEST]: related };
    return super.send({ ...message, params: { ...message.params, _meta } });
  }
}
