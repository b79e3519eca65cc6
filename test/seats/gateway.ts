import { onTestFinished } from 'vitest';
import { createModels, type Models } from '../../src/model/create-model.ts';
import type { ConfiguredGateway } from '../../src/model/model-config.ts';
import { delta, type FakeGateway, type Play, startGateway, stream } from '../model/fake-gateway.ts';

/** A gateway that plays, and the models behind it, until the test ends. */
export async function startScript(
  plays: readonly Play[],
  gateway: Partial<ConfiguredGateway> = {},
): Promise<{ readonly gateway: FakeGateway; readonly models: Models }> {
  const started = await startGateway(...plays);
  onTestFinished(() => started.close());
  const models = createModels({ gateways: [{ pattern: '*', baseUrl: started.url, ...gateway }] });
  return { gateway: started, models };
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** A whole answer in chat completions that calls a tool. */
export function calls(name: string, args: object, id = `call_${name}`, extra: object = {}): Play {
  const call = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
  return stream(
    delta({ role: 'assistant', content: null, ...extra }),
    delta({ tool_calls: [call] }),
    delta({}, 'tool_calls'),
    { ...delta({}), choices: [], usage: USAGE },
  );
}

/** A whole answer in chat completions. */
export function says(text: string): Play {
  return stream(delta({ role: 'assistant', content: '' }), delta({ content: text }), delta({}, 'stop'), {
    ...delta({}),
    choices: [],
    usage: USAGE,
  });
}

/** The form of an answer that was not asked for as a stream. */
export function whole(message: object, finishReason = 'stop'): Play {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }],
        usage: USAGE,
      }),
    );
  };
}
