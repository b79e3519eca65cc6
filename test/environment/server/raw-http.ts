import { type IncomingHttpHeaders, request } from 'node:http';

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Buffer;
  readonly path?: string;
}

/** One HTTP request with exactly the headers that are given; the usual ones of an MCP client where none are. */
export function send(url: string, { method = 'POST', headers = {}, body, path }: RawRequest = {}): Promise<RawReply> {
  const all: Record<string, string | undefined> = {
    accept: 'application/json, text/event-stream',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers: given, agent: false, ...(path === undefined ? {} : { path }) });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    outgoing.end(body);
  });
}

export function rpc(method: string, params: object = {}, id: number | string = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

export function initializeBody(protocolVersion = '2025-11-25', meta: object = {}): string {
  const clientInfo = { name: 'raw', version: '1' };
  return rpc('initialize', { protocolVersion, capabilities: {}, clientInfo, _meta: meta }, 0);
}

/** Opens a session and gives its id. */
export async function openSession(url: string, protocolVersion?: string, meta: object = {}): Promise<string> {
  const { status, headers, text } = await send(url, { body: initializeBody(protocolVersion, meta) });
  const id = headers['mcp-session-id'];
  if (status !== 200 || typeof id !== 'string') throw new Error(`No session: ${status} ${text}`);
  return id;
}

/** A request of 2026-07-28 with the headers that repeat it. */
export function modern(method: string, params: Record<string, unknown> = {}, meta: object = {}): RawRequest {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta,
  };
  const name = params.name ?? params.uri;
  return {
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
    body: rpc(method, { ...params, _meta }),
  };
}
