import type { EnvironmentClient } from '../../client/environment-client.ts';
import { META } from '../../contract/names.ts';
import type { SetupResult } from '../../contract/scenario.ts';

/** Stands around each request of a session that plays a scenario. */
export type Around = <T>(part: 'setup' | 'call' | 'evaluate', request: () => Promise<T>) => Promise<T>;

/** The client with something around its requests. Closing it closes the client. */
export function aroundClient(
  client: EnvironmentClient,
  {
    around,
    toSetup = (setup) => setup,
  }: { readonly around?: Around | undefined; readonly toSetup?: (setup: SetupResult) => SetupResult },
): EnvironmentClient {
  const wrap: Around = around ?? ((_part, request) => request());
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
    // Where a check leaves out the user, because only a model can play it, nobody has said anything.
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
