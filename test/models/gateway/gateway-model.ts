import type { TranscriptMessage } from '../../../src/contract/chat.ts';
import type { ModelRequest } from '../../../src/models/gateway/chat-model.ts';
import { createGatewayModel, type GatewayOptions } from '../../../src/models/gateway/gateway.ts';
import { fakeTiming, type Play, startGateway } from '../../gateway.ts';

export const KEY = 'secret-key-of-the-gateway';

export const USER_MESSAGE: TranscriptMessage = { role: 'user', content: 'Hello' };

export function toRequest(fields: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [USER_MESSAGE], tools: [], sampling: {}, signal: new AbortController().signal, ...fields };
}

/** A model of a gateway with these answers, whose waits take no time. */
export async function modelFor(plays: readonly Play[], options: Partial<GatewayOptions> = {}) {
  const timing = fakeTiming();
  const gateway = await startGateway(...plays);
  const model = createGatewayModel('m-1', { baseUrl: gateway.url, apiKey: KEY, timing, ...options });
  return { gateway, model, timing };
}
