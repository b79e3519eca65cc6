import type { IncomingMessage } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import { Refusal, RPC_CODE } from './http-refusal.ts';
import { isTooDeep, MAX_JSON_DEPTH } from './json-depth.ts';

/** @throws Refusal 415, 413 or 400. */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  if (!isJsonContentType(request.headers['content-type'])) {
    const given = request.headers['content-type'];
    const got = given === undefined ? 'none' : JSON.stringify(given);
    throw new Refusal(
      415,
      RPC_CODE.refused,
      `Unsupported media type: Content-Type must be application/json, got ${got}`,
    );
  }
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Refusal(
      415,
      RPC_CODE.refused,
      `Unsupported content encoding ${JSON.stringify(encoding)}: send it as it is`,
    );
  }
  const value = parse(await readBody(request, maxBytes));
  if (isTooDeep(value)) {
    throw new Refusal(400, RPC_CODE.invalidRequest, `Invalid request: nested more than ${MAX_JSON_DEPTH} deep`);
  }
  return value;
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(request, maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(request, maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function tooLarge(request: IncomingMessage, maxBytes: number): Refusal {
  // The rest is not read: the connection cannot carry another request.
  request.unpipe().resume();
  const message = `The body is larger than ${maxBytes / 1024 / 1024} MiB`;
  return new Refusal(413, RPC_CODE.refused, message, { headers: { connection: 'close' } });
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new Refusal(400, RPC_CODE.parseError, 'Parse error: the body is not JSON in UTF-8');
  }
}
