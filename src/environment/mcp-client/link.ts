import type { Transport } from '@modelcontextprotocol/client';

/**
 * A connection to an MCP server, with the process that was started for it, if any. The caller that opens it has to
 * close it.
 */
export interface Link {
  readonly transport: Transport;
  /**
   * The way in which the other end has ended. The text continues its name. Undefined if it runs or its state is not
   * known.
   */
  status(): string | undefined;
  /** `status` with the last output of the process, which only the developer may see. */
  ending(): string | undefined;
  /** True if the process was killed because it used more memory than its limit. */
  isOverMemory(): boolean;
  /** Its last lines on standard error or in its log. Empty if there are none, or if they cannot be read from here. */
  lastWords(): string;
  /** Ends the session and the process that was started for it. Never rejects. A second call waits for the first. */
  close(): Promise<void>;
}

/**
 * Makes a link from a transport that cannot tell how its other end has ended, such as one in this process.
 *
 * @param close closes the server behind the transport. It is called once.
 */
export function toLink(transport: Transport, close: () => Promise<void>, lastWords = () => ''): Link {
  let closing: Promise<void> | undefined;
  return {
    transport,
    status: () => undefined,
    ending: () => undefined,
    isOverMemory: () => false,
    lastWords,
    close: () => {
      // Errors are ignored: a server that cannot be told notices the end by itself.
      closing ??= close().catch(() => {});
      return closing;
    },
  };
}
