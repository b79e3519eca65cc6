import type { ChatModel } from '../../../src/models/gateway/chat-model.ts';
import { createGatewayModel } from '../../../src/models/gateway/gateway.ts';
import { delta } from '../../gateway.ts';

/** A gateway model over a client that streams these chunks, and the bodies that it was asked with. */
export function chunkModel(...chunks: readonly unknown[]): { model: ChatModel; bodies: Record<string, unknown>[] } {
  const bodies: Record<string, unknown>[] = [];
  const create = async (body: object) => {
    bodies.push({ ...body });
    return (async function* () {
      yield* chunks;
    })();
  };
  return { model: createGatewayModel('m', { client: { chat: { completions: { create } } } }), bodies };
}

export const DONE = delta({}, 'stop');
