import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { messageOf } from '../../contract/errors.ts';
import { STREAM_CUT_CODE } from '../mcp-client/http-transport.ts';
import type { Link } from '../mcp-client/link.ts';

/** Describes a failure. The text continues a sentence that begins with "it". */
export function describeFailure(error: unknown, link: Link | undefined): string {
  const ending = link?.ending();
  if (ending !== undefined) return ending;
  if (error instanceof SdkHttpError) return `answered HTTP ${error.status}${isRedirect(error) ? REDIRECTED : ''}`;
  if (error instanceof ProtocolError) return `answered: ${error.message}`;
  return `failed: ${causeOf(error)}`;
}

function isRedirect({ status = 0 }: SdkHttpError): boolean {
  return status >= 300 && status < 400;
}

/** Redirects are not followed, because another host would receive the headers of the target, which may be secrets. */
const REDIRECTED = ', a redirect to another address, which is not followed: give that address as the url';

/** Adds the cause of an error, because a message such as `fetch failed` does not explain it. */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${messageOf(error.cause)})` : '';
  return `${messageOf(error)}${cause}`;
}

/**
 * True if the server may speak the older HTTP+SSE. By the MCP specification, such a server answers the POST of a
 * handshake with one of these codes.
 */
export function isOlderServer(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0);
}

export function isConnectionLost(error: unknown): boolean {
  if (error instanceof ProtocolError) return error.code === STREAM_CUT_CODE;
  if (error instanceof SdkHttpError) return error.status === 404;
  if (error instanceof SdkError) return LOST_CODES.has(error.code);
  // For example "Not connected" of the SDK, "fetch failed", or a broken pipe.
  return error instanceof Error && error.name !== 'ZodError';
}

const LOST_CODES: ReadonlySet<string> = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
]);
