import type { GatewayFailure } from '../gateway-failure.ts';
import type { AgentCall, AgentModelOptions, CalledAnswer } from './agent-call.ts';
import { createGatewayModel } from './gateway.ts';

/**
 * Asks a gateway in chat completions, and answers the agent in its own protocol. Makes one try.
 *
 * @throws GatewayFailure; the signal's reason.
 */
export async function translateCall(name: string, call: AgentCall, options: AgentModelOptions): Promise<CalledAnswer> {
  const { dialect, request, head, sampling, signal, send, onDelta, onWait } = call;
  const { client, keys, idleTimeoutMs, timing } = options;
  const stream = request.isStreamed ? dialect.createStream(request, head) : undefined;
  if (stream !== undefined) call.onStream?.(stream);
  // Keeps the failure unchanged, because the caller writes the agent's error with the gateway's headers.
  const toError = (failure: GatewayFailure) => failure;
  const gateway = createGatewayModel(name, { client, keys, idleTimeoutMs, timing, maxTries: 1, toError });
  const output = await gateway.respond({
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

/** Keeps only the run's token limit, because both names set the same limit. */
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
