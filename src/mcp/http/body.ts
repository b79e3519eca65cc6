import type { IncomingMessage } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import { isTooDeep, MAX_JSON_DEPTH } from '../../contract/json-depth.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { hasTooManyCapabilities, MAX_CAPABILITIES } from './capability-limit.ts';

/** One for all: to make one takes longer than to read a small body by it. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

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
  if (hasTooManyCapabilities(value)) {
    throw new Refusal(
      400,
      RPC_CODE.invalidRequest,
      `Invalid request: capabilities with more than ${MAX_CAPABILITIES} members`,
    );
  }
  return value;
}

/** Not by `for await`: leaving that loop destroys the request, and the reply with it. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () =>
    // The rest is discarded: the connection cannot carry another request.
    new Refusal(413, RPC_CODE.refused, `The body is larger than ${maxBytes} bytes, the limit of this server`, {
      headers: { connection: 'close' },
    });
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        reject(tooLarge());
      }
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => {
      // After a whole body too, where an error that nobody reads would cost as much as the parser.
      if (!request.complete) reject(new Error('The connection ended inside the body'));
    });
  });
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(UTF_8.decode(body));
  } catch {
    throw new Refusal(400, RPC_CODE.parseError, 'Parse error: the body is not JSON in UTF-8');
  }
}
