import type { AgentCall, AgentModelOptions, CalledAnswer } from './agent-model.ts';
import { createGatewayModel } from './gateway.ts';

/** Asks a gateway by chat completions, and answers the agent in its own protocol. One try. */
export async function translateCall(name: string, call: AgentCall, options: AgentModelOptions): Promise<CalledAnswer> {
  const { dialect, request, head, sampling, signal, send, onDelta, onWait } = call;
  const { client, keys, idleTimeoutMs, timing } = options;
  const stream = request.isStreamed ? dialect.createStream(request, head) : undefined;
  if (stream !== undefined) call.onStream?.(stream);
  const output = await createGatewayModel(name, { client, keys, idleTimeoutMs, timing, maxTries: 1 }).respond({
    messages: request.messages,
    tools: request.tools,
    sampling: withoutDoubledLimits({ ...request.settings, ...sampling }, sampling),
    hasWholeResults: true,
    signal,
    onWait,
    onDelta: (delta) => {
      onDelta?.(delta);
      if (stream !== undefined) send(stream.delta(delta));
    },
  });
  if (stream === undefined) return { output, rest: JSON.stringify(dialect.writeResponse(request, output, head)) };
  send(stream.complete(output));
  return { output, rest: stream.end() };
}

/** Both names are of one limit; the run's wins. */
function withoutDoubledLimits(settings: AgentCall['sampling'], run: AgentCall['sampling']): AgentCall['sampling'] {
  if (run.max_tokens === undefined && run.max_completion_tokens === undefined) return settings;
  const { max_tokens: _tokens, max_completion_tokens: _completion, ...rest } = settings;
  const { max_tokens, max_completion_tokens } = run;
  return {
    ...rest,
    ...(max_tokens === undefined ? {} : { max_tokens }),
    ...(max_completion_tokens === undefined ? {} : { max_completion_tokens }),
  };
}
