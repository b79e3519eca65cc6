import type { Transport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { CallOptions } from './environment-client.ts';

type OnProgress = NonNullable<CallOptions['onProgress']>;

const progressSchema = z.object({
  method: z.literal('notifications/progress'),
  params: z.object({
    progressToken: z.string(),
    progress: z.number(),
    total: z.number().nullish(),
    message: z.string().nullish(),
  }),
});

/**
 * Hands progress to the call that it is for, as it comes in. The SDK hands it on later than the answer that follows it,
 * and so loses what arrives together with the answer.
 */
export class ProgressListeners {
  readonly #listeners = new Map<string, OnProgress>();
  #lastToken = 0;

  /** @param transport not connected yet: the SDK keeps the listener that it finds, and calls it first. */
  constructor(transport: Transport) {
    transport.onmessage = (message) => {
      if (!('method' in message) || message.method !== 'notifications/progress') return;
      const parsed = progressSchema.safeParse(message);
      if (!parsed.success) return;
      const { progressToken, progress, total = null, message: text = null } = parsed.data.params;
      this.#listeners.get(progressToken)?.({ progress, total, message: text });
    };
  }

  /** Listens with a token of its own until `send` settles. */
  async listen<Result>(onProgress: OnProgress, send: (token: string) => Promise<Result>): Promise<Result> {
    this.#lastToken += 1;
    const token = `call-${this.#lastToken}`;
    this.#listeners.set(token, onProgress);
    try {
      return await send(token);
    } finally {
      this.#listeners.delete(token);
    }
  }
}
