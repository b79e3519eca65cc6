import { once } from '../../support/runtime/once.ts';
import type { ChatModel } from './chat-model.ts';

/** A model that is made at its first response, with the code that only it needs. */
export function lazyModel(name: string, make: () => Promise<ChatModel>): ChatModel {
  const model = once(make);
  return {
    name,
    respond: async (request) => await (await model.get()).respond(request),
    checkResults: (results) => model.value?.checkResults?.(results),
  };
}
