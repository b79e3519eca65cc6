import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isRequest, type RequestId } from './json-rpc.ts';
import { Refusal, RPC_CODE } from './refusal.ts';

/** Revisions in which clients may send several messages at once. */
const BATCH_REVISIONS: ReadonlySet<string> = new Set(['2025-03-26', '2024-11-05']);
/** Maximum number of messages in a batch. Each may start a call, and thousands of calls would block other clients. */
const MAX_BATCH_LENGTH = 100;

/** @throws Refusal 400 if the batch is empty or too long. */
export function assertBatchLength(batch: readonly unknown[]): void {
  if (batch.length > 0 && batch.length <= MAX_BATCH_LENGTH) return;
  const hint = `Invalid request: a batch of ${batch.length} messages; from 1 to ${MAX_BATCH_LENGTH} are taken`;
  throw new Refusal(400, RPC_CODE.invalidRequest, hint);
}

/** @throws Refusal 400 if the revision has no batches. */
export function assertBatchRevision(protocol: string): void {
  if (BATCH_REVISIONS.has(protocol)) return;
  const hint = `JSON-RPC batches are not part of MCP ${protocol}, which this session speaks`;
  throw new Refusal(400, RPC_CODE.invalidRequest, hint);
}

/** The ids of a connection's unanswered requests. */
export interface OpenIds {
  has(id: RequestId): boolean;
}

/** @throws Refusal 400 for an id that is in use or appears twice in the batch, and for `initialize`. */
export function assertFreshIds(messages: readonly JSONRPCMessage[], open: OpenIds): void {
  const seen = new Set<RequestId>();
  for (const message of messages) {
    if (!isRequest(message)) continue;
    if (message.method === 'initialize') {
      throw new Refusal(400, RPC_CODE.invalidRequest, 'initialize cannot be part of a batch');
    }
    if (seen.has(message.id) || open.has(message.id)) throw usedId(message.id);
    seen.add(message.id);
  }
}

/** The refusal for an id that is in use. */
export function usedId(id: RequestId): Refusal {
  const hint = `The id ${JSON.stringify(id)} is that of a request which is still running in this session`;
  return new Refusal(400, RPC_CODE.invalidRequest, hint);
}

interface Batch {
  readonly unanswered: Set<RequestId>;
  readonly replies: JSONRPCMessage[];
}

/** Collects the replies to the requests of one batch, which are sent together. For transports with one client. */
export class Batches {
  readonly #byId = new Map<RequestId, Batch>();

  begin(messages: readonly JSONRPCMessage[]): void {
    const ids = messages.filter(isRequest).map(({ id }) => id);
    const batch: Batch = { unanswered: new Set(ids), replies: [] };
    for (const id of ids) this.#byId.set(id, batch);
  }

  /** Takes a reply and returns the message to send now: the reply, its whole batch, or nothing yet. */
  take(id: RequestId, reply: JSONRPCMessage): JSONRPCMessage | readonly JSONRPCMessage[] | undefined {
    const batch = this.#byId.get(id);
    if (batch === undefined) return reply;
    batch.replies.push(reply);
    return this.#settle(id, batch);
  }

  /** Removes a cancelled request, which gets no reply. Returns the replies to send if the batch is complete now. */
  cancel(id: RequestId): readonly JSONRPCMessage[] | undefined {
    const batch = this.#byId.get(id);
    return batch === undefined ? undefined : this.#settle(id, batch);
  }

  #settle(id: RequestId, { unanswered, replies }: Batch): readonly JSONRPCMessage[] | undefined {
    this.#byId.delete(id);
    unanswered.delete(id);
    return unanswered.size === 0 && replies.length > 0 ? replies : undefined;
  }
}
