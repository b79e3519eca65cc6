import { META } from '../../../contract/names.ts';
import type { SetupResult } from '../../../contract/scenario.ts';
import type { EnvironmentClient } from '../../../environment/client/environment-client.ts';

/** Wraps each request of a session. */
export type ClientMiddleware = <T>(part: 'setup' | 'call' | 'evaluate', request: () => Promise<T>) => Promise<T>;

/** A client whose requests go through a middleware. Closing it closes the wrapped client. */
export function withMiddleware(
  client: EnvironmentClient,
  {
    around,
    toSetup = (setup) => setup,
  }: { readonly around?: ClientMiddleware | undefined; readonly toSetup?: (setup: SetupResult) => SetupResult },
): EnvironmentClient {
  const wrap: ClientMiddleware = around ?? ((_part, request) => request());
  const { name, version, protocol, transport, isShared, lost } = client;
  const callFunction = client.callFunction?.bind(client);
  const answerSamples = client.answerSamples?.bind(client);
  return {
    name,
    version,
    protocol,
    transport,
    ...(isShared !== undefined && { isShared }),
    ...(lost !== undefined && { lost }),
    get isLost() {
      return client.isLost ?? false;
    },
    scenarios: (options) => client.scenarios(options),
    tools: (options) => client.tools(options),
    solution: (...given) => client.solution(...given),
    ...(answerSamples && { answerSamples }),
    ...(callFunction && { callFunction: (...given) => wrap('call', () => callFunction(...given)) }),
    call: (...given) => wrap('call', () => client.call(...given)),
    // A user that only a model can play is left out, so that the conversation is empty.
    evaluate: (scenario, answer, options) => {
      const meta = { [META.conversation]: [], ...options?.meta };
      return wrap('evaluate', () => client.evaluate(scenario, answer, { ...options, meta }));
    },
    async setup(...given) {
      return toSetup(await wrap('setup', () => client.setup(...given)));
    },
    close: () => client.close(),
  };
}
