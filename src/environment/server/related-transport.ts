import type { JSONRPCMessage, TransportSendOptions } from '@modelcontextprotocol/server';
import { StdioTransport } from './stdio/stdio-transport.ts';

/** The `_meta` key that names the client's request that a message belongs to. Only Proctor's own processes use it. */
export const RELATED_REQUEST = 'svc/related_request';

/**
 * MCP over streams to a process that passes messages on. There each request has its own stream, so messages name their
 * request.
 */
export class RelatedTransport extends StdioTransport {
  override send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const related = options?.relatedRequestId;
    if (related === undefined || !('method' in message)) return super.send(message);
    const _meta = { ...message.params?._meta, [RELATED_REQUEST]: related };
    return super.send({ ...message, params: { ...message.params, _meta } });
  }
}
