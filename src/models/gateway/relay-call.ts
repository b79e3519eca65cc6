import { isJsonObject } from '../../contract/json.ts';
import type { RelayedRequest } from '../dialects/dialect.ts';
import { answeredFailure, GatewayFailure, sendWithUsage } from '../gateway-failure.ts';
import type { AgentCall, AgentGateway, AgentModelOptions, CalledAnswer } from './agent-call.ts';
import { limitBytes, readBytesOf } from './chunk-stream.ts';
import { withReadableErrors } from './gateway-client.ts';
import { gatewayFetch } from './gateway-fetch.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, limitSilence } from './silence-limit.ts';

export interface RelayOptions extends AgentModelOptions {
  readonly address: NonNullable<AgentGateway['address']>;
}

/**
 * Makes one try: sends an agent's request to a gateway that speaks its protocol, passes the answer on, and reads it.
 */
export async function relayCall(name: string, call: AgentCall, options: RelayOptions): Promise<CalledAnswer> {
  const { dialect, request, headers, sampling, signal } = call;
  const { address, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = options;
  const { apiKey } = address;
  const relayed = dialect.toRelayed(request, { model: name, sampling, apiKey, headers });
  const limit = limitSilence(signal, idleTimeoutMs);
  try {
    const reply = await ask(relayed, address, limit.signal);
    limit.onSignOfLife();
    const answer = await readAnswer(reply, call, limit);
    limit.end();
    return answer;
  } catch (thrown) {
    limit.cut();
    signal.throwIfAborted();
    throw limit.silence ?? thrown;
  }
}

/** @throws GatewayFailure for an error reply. */
async function ask(
  relayed: RelayedRequest,
  address: RelayOptions['address'],
  signal: AbortSignal,
): Promise<Awaited<ReturnType<typeof fetch>>> {
  const send = withReadableErrors(address.fetch ?? gatewayFetch);
  const post = async (body: object) => {
    const reply = await send(`${address.baseUrl}${relayed.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...relayed.headers },
      body: JSON.stringify(body),
      signal,
    });
    if (!reply.ok) throw await failureOf(reply);
    return reply;
  };
  return await sendWithUsage(relayed.body, post);
}

async function failureOf(reply: Response): Promise<GatewayFailure> {
  const { status, headers } = reply;
  const body: unknown = await reply.json().catch(() => undefined);
  const error = isJsonObject(body) ? (body.error ?? null) : null;
  return answeredFailure(error ?? `status ${status}`, { status, headers });
}

async function readAnswer(
  reply: Response,
  { dialect, request, head, send, onDelta }: AgentCall,
  limit: { readonly signal: AbortSignal; onSignOfLife(): void },
): Promise<CalledAnswer> {
  const type = reply.headers.get('content-type') ?? '';
  if (/\bhtml\b/i.test(type)) {
    throw new GatewayFailure(
      'answered',
      `the reply is a web page (${type}): the gateway's URL has to be the base URL of its API`,
    );
  }
  const body = reply as Parameters<typeof readBytesOf>[0]; // A body of ours can be iterated, and so can that of `fetch`.
  if (/\bevent-stream\b/i.test(type)) {
    const reader = dialect.createStreamReader(request);
    if (onDelta !== undefined) reader.onDelta = onDelta;
    await readBytesOf(body, limit, (bytes) => {
      const passed = reader.add(bytes);
      if (request.isStreamed && passed.length > 0) send(passed);
    });
    const output = reader.finish();
    if (request.isStreamed) return { output, rest: reader.heldBack };
    return { output, rest: JSON.stringify(dialect.writeResponse(request, output, head)) };
  }
  const bytes = await readWhole(body, limit);
  const output = dialect.readResponse(request, parse(bytes));
  if (!request.isStreamed) return { output, rest: bytes };
  const stream = dialect.createStream(request, head);
  send(stream.complete(output));
  return { output, rest: stream.end() };
}

async function readWhole(
  reply: Parameters<typeof readBytesOf>[0],
  limit: { readonly signal: AbortSignal; onSignOfLife(): void },
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const keep = (bytes: Uint8Array) => void pieces.push(bytes);
  await readBytesOf(reply, limit, limitBytes(keep));
  return Buffer.concat(pieces);
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (cause) {
    throw new GatewayFailure('lost', 'the reply is not JSON, as if it had been cut', { cause });
  }
}
