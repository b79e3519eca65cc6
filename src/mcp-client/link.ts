import type { Transport } from '@modelcontextprotocol/client';

/** The way to an MCP server and what was started for it. Whoever opened it closes it. */
export interface Link {
  readonly transport: Transport;
  /** How the other end is known to have ended, in words that continue its name; undefined where nothing is known. */
  status(): string | undefined;
  /** `status` with the last words of its process, which are for the developer alone. */
  ending(): string | undefined;
  /** True when it was ended because it wanted more memory than it may have. */
  isOverMemory(): boolean;
  /** Its last lines on standard error, or of its log; empty where there are none, or nobody here can see them. */
  lastWords(): string;
  /** Ends the session and what was started for it. Never rejects; later calls wait for the first. */
  close(): Promise<void>;
}

/**
 * A transport that says nothing of how its other end has ended, as in this process.
 *
 * @param close ends what the transport leads to; called once.
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
      // A server that cannot be told notices the end by itself.
      closing ??= close().catch(() => {});
      return closing;
    },
  };
}
