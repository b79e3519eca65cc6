import * as http from 'node:http';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { z } from 'zod';
import { once, type Part } from '../../../support/runtime/once.ts';
import { durationText } from '../../../support/text/figures.ts';
import { EngineError, type EngineFault } from '../engine.ts';
import { type EngineAddress, unreachable } from './address.ts';
import { isWrongVersion, Refusal } from './refusal.ts';
import { type EngineVersion, negotiate, versionSchema } from './version.ts';

/** An engine that has not begun to answer after this long is away. */
const AWAY_AFTER_MS = 30_000;
/** Limit of calls for which a busy engine works before it answers: starts, commits, removals. */
export const WORK_LIMIT_MS = 180_000;
/** Bytes of an answer that is read as a whole. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export interface ApiCall {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as a tar archive. */
  readonly archive?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds until the engine has to begin its answer; undefined for 30 s, `null` for no limit but the signal. */
  readonly limitMs?: number | null;
  /** Fault of the error if the engine refuses. Default `refused`. */
  readonly fault?: EngineFault;
}

/** Speaks HTTP with one engine. Each call has a connection of its own, so that none is left when nothing runs. */
export class DockerApi {
  readonly address: EngineAddress;
  readonly #open = new Set<http.ClientRequest>();
  #version: Part<EngineVersion>;

  constructor(address: EngineAddress) {
    this.address = address;
    this.#version = this.#askVersion();
  }

  async version(signal: AbortSignal): Promise<EngineVersion> {
    signal.throwIfAborted();
    return await this.#version.get();
  }

  /** Calls and checks the answer. @throws EngineError. */
  async json<T>(call: ApiCall, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    return parse(await this.text(call, signal), schema, call);
  }

  /** Calls and gives the answer as text. */
  async text(call: ApiCall, signal: AbortSignal): Promise<string> {
    return await readAll(await this.stream(call, signal), call);
  }

  /** Calls, and gives the answer while it comes. The caller reads it to its end or destroys it. */
  async stream(call: ApiCall, signal: AbortSignal): Promise<http.IncomingMessage> {
    return await this.#versioned(call, signal, async (path) => {
      const { reply } = await this.#send(call, path, signal);
      if (reply === undefined) throw new EngineError('protocol', `The container engine upgraded "${nameOf(call)}"`);
      return await this.#checked(reply, call);
    });
  }

  /** Starts a call that turns its connection into a stream of bytes in both directions. */
  async upgrade(call: ApiCall, signal: AbortSignal): Promise<Socket> {
    return await this.#versioned(call, signal, async (path) => {
      const upgrading = { ...call, headers: { Connection: 'Upgrade', Upgrade: 'tcp' } };
      const { reply, socket } = await this.#send(upgrading, path, signal);
      if (socket !== undefined) return socket;
      if (reply !== undefined) (await this.#checked(reply, call)).destroy();
      throw new EngineError(
        'protocol',
        `The container engine did not upgrade "${nameOf(call)}": a proxy may stand between`,
      );
    });
  }

  /** Ends all open calls. */
  close(): void {
    for (const request of this.#open) request.destroy();
  }

  #askVersion(): Part<EngineVersion> {
    return once(async () => {
      const call: ApiCall = { method: 'GET', path: '/version' };
      const { reply } = await this.#send(call, call.path, AbortSignal.timeout(AWAY_AFTER_MS));
      if (reply === undefined) throw new EngineError('protocol', 'The container engine upgraded "GET /version"');
      return negotiate(parse(await readAll(await this.#checked(reply, call), call), versionSchema, call));
    });
  }

  /** An engine that was replaced by another version while we run is asked for its version once more. */
  async #versioned<T>(call: ApiCall, signal: AbortSignal, send: (path: string) => Promise<T>): Promise<T> {
    const known = this.#version;
    try {
      return await send(await this.#prefixed(call, signal));
    } catch (error) {
      if (!isWrongVersion(error) || call.archive !== undefined) throw error;
      if (this.#version === known) this.#version = this.#askVersion();
      return await send(await this.#prefixed(call, signal));
    }
  }

  /** Podman's own calls have its own version. */
  async #prefixed(call: ApiCall, signal: AbortSignal): Promise<string> {
    const { api, version } = await this.version(signal);
    return `/v${call.path.startsWith('/libpod/') ? version.replace(/[^\d.].*$/, '') : api}${pathOf(call)}`;
  }

  async #checked(reply: http.IncomingMessage, call: ApiCall): Promise<http.IncomingMessage> {
    const status = reply.statusCode ?? 0;
    if (status < 400) return reply;
    const text = await readAll(reply, call);
    throw new Refusal(status, messageOf(text) ?? `status ${status}`, call.fault ?? 'refused', nameOf(call));
  }

  #send(
    call: ApiCall,
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly reply?: http.IncomingMessage; readonly socket?: Socket }> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const request = this.#request(call, path);
      this.#open.add(request);
      const limitMs = call.limitMs === undefined ? AWAY_AFTER_MS : call.limitMs;
      const late = this.#late(call, limitMs ?? 0);
      const timer = limitMs === null ? undefined : setTimeout(() => request.destroy(late), limitMs);
      const onAbort = () => request.destroy(toError(signal.reason));
      signal.addEventListener('abort', onAbort, { once: true });
      const over = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#open.delete(request);
      };
      request.on('response', (reply) => {
        clearTimeout(timer);
        reply.on('error', () => {}); // The reader of the answer is told.
        resolve({ reply });
      });
      request.on('upgrade', (_, socket: Socket, head: Buffer) => {
        over();
        socket.on('error', () => {}); // The process reports it.
        if (head.length > 0) socket.unshift(head);
        resolve({ socket });
      });
      request.on('close', over);
      request.on('error', (error: NodeJS.ErrnoException) => {
        over();
        reject(error === late || signal.aborted ? error : unreachable(this.address, error));
      });
      if (call.archive === undefined) request.end(call.body === undefined ? undefined : JSON.stringify(call.body));
      // An engine that refuses may do so while the archive is sent: its answer comes first then.
      else pipeline(Readable.from(call.archive, { objectMode: false }), request).catch(() => {});
    });
  }

  #late(call: ApiCall, limitMs: number): EngineError {
    const message = `The container engine at ${this.address.url} did not answer "${nameOf(call)}"`;
    return new EngineError('timeout', `${message} within ${durationText(limitMs)}: it may be overloaded or hang`);
  }

  #request(call: ApiCall, path: string): http.ClientRequest {
    const type = call.archive === undefined ? 'application/json' : 'application/x-tar';
    const hasBody = call.archive !== undefined || call.body !== undefined;
    const { socketPath, host, port, tls } = this.address;
    const options: http.RequestOptions = {
      method: call.method,
      path,
      agent: false,
      headers: { ...(hasBody ? { 'Content-Type': type } : {}), Host: host ?? 'engine', ...call.headers },
      ...(socketPath === undefined ? { host, port } : { socketPath }),
    };
    return tls === undefined ? http.request(options) : https.request({ ...options, ...tls });
  }
}

function pathOf({ path, query = {} }: ApiCall): string {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) text.set(name, String(value));
  return text.size === 0 ? path : `${path}?${text}`;
}

function nameOf({ method, path }: ApiCall): string {
  return `${method} ${path.replace(/[0-9a-f]{64}/g, (id) => id.slice(0, 12))}`;
}

async function readAll(reply: http.IncomingMessage, call: ApiCall): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  reply.setTimeout(AWAY_AFTER_MS, () => reply.destroy(new Error('it stopped in the middle of an answer')));
  try {
    for await (const chunk of reply as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) throw new Error(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
      parts.push(chunk);
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError('unreachable', `The container engine broke off "${nameOf(call)}": ${reason}`, { cause });
  }
  return Buffer.concat(parts).toString('utf8');
}

function parse<T>(text: string, schema: z.ZodType<T>, call: ApiCall): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const message = `The container engine answered "${nameOf(call)}" with no JSON: ${text.slice(0, 200)}`;
    throw new EngineError('protocol', message, { cause });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue === undefined ? '' : `${issue.path.join('.')}: ${issue.message}`;
  throw new EngineError('protocol', `The container engine answered "${nameOf(call)}" with something unknown: ${where}`);
}

function messageOf(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' ? message : text;
  } catch {
    return text === '' ? undefined : text.slice(0, 2_000);
  }
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
