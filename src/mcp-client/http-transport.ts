import { isJSONRPCRequest, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { endsWithin } from '../runtime/deadline.ts';

/** JSON-RPC leaves this range to implementations; here: the stream of a request ended without its answer. */
export const STREAM_CUT_CODE = -32_000;

/**
 * Streamable HTTP. The SDK lets a request wait for ever when the event stream that should have answered it ends early,
 * as it does when the server dies: such a request is answered here, with an error.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) return super.send(message, options);
    const { id } = message;
    const error = { code: STREAM_CUT_CODE, message: 'the connection was lost before it had answered' };
    // After an answer this is one too many for its request, and dropped.
    const onRequestStreamEnd = () => this.onmessage?.({ jsonrpc: '2.0', id, error });
    return super.send(message, { onRequestStreamEnd, ...options });
  }

  /** Tells the server that the session is over, and waits for its answer at most `limitMs` milliseconds. Never rejects. */
  async endSession(limitMs: number): Promise<void> {
    // Its failure is of no interest: a server that cannot be told forgets the session by itself.
    await endsWithin(
      this.terminateSession().catch(() => {}),
      limitMs,
    );
  }
}
