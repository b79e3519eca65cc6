import { isJSONRPCRequest, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { endsWithin } from '../../support/runtime/deadline.ts';

/**
 * A code from the range that JSON-RPC leaves to implementations. It means that a request's stream ended without an
 * answer.
 */
export const STREAM_CUT_CODE = -32_000;

/**
 * Streamable HTTP. If the event stream of a request ends before the answer, for example because the server died, the
 * SDK waits forever. This transport answers such a request with an error.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) return super.send(message, options);
    const { id } = message;
    const error = { code: STREAM_CUT_CODE, message: 'the connection was lost before it had answered' };
    // If the request has its answer already, this second answer is ignored.
    const onRequestStreamEnd = () => this.onmessage?.({ jsonrpc: '2.0', id, error });
    return super.send(message, { onRequestStreamEnd, ...options });
  }

  /**
   * Tells the server that the session is over. Waits for its answer for at most `limitMs` milliseconds. Never rejects.
   */
  async endSession(limitMs: number): Promise<void> {
    // A failure is ignored: a server that cannot be reached drops the session by itself.
    await endsWithin(
      this.terminateSession().catch(() => {}),
      limitMs,
    );
  }
}
