import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../contract/errors.ts';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { createOriginGuard } from '../../http/origin-guard.ts';
import { prefersHtml } from '../../http/prefers-html.ts';
import type { SessionHost } from '../session-host.ts';
import { readHelperAsset, renderHelperPage } from './helper-page.ts';
import { readAgentView } from './helper-view.ts';

export const HELPERS_PATH = '/svc';
/** Script and style of the page. */
const ASSETS_PATH = `${HELPERS_PATH}/assets/`;

export interface HelperRoutes {
  has(pathname: string): boolean;
  /** @throws ApiError */
  answer(pathname: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/**
 * The development helpers (contract section 1): what an agent sees of the environment, as JSON, and a page that is an
 * MCP client of the endpoint at `mcpPath` as any other is. For servers on loopback alone, and asked by a loopback name alone: a
 * proxy in front of a local server does not publish them.
 */
export function createHelperRoutes(host: SessionHost, mcpPath: string): HelperRoutes {
  const guard = createOriginGuard();
  const documents = createDocuments(host);
  return {
    has: (pathname) => pathname === HELPERS_PATH || documents.has(pathname) || pathname.startsWith(ASSETS_PATH),
    async answer(pathname, request, response) {
      guard.check(request.headers);
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const headers = { allow: 'GET, HEAD' };
        throw new ApiError('method_not_allowed', `${request.method} is not allowed on ${pathname}: GET`, { headers });
      }
      const document = documents.get(pathname);
      if (document !== undefined) send(response, toJson(await document()));
      else if (pathname !== HELPERS_PATH)
        send(response, readHelperAsset(pathname.slice(ASSETS_PATH.length), request.headers['accept-encoding']));
      else if (prefersHtml(request.headers.accept)) send(response, renderHelperPage(HELPERS_PATH, mcpPath));
      else send(response, toJson(toOverview(host)));
    },
  };
}

function createDocuments(host: SessionHost): ReadonlyMap<string, () => Promise<object>> {
  const list = (part: 'tools' | 'resources' | 'prompts', toEntry: (entry: JsonObject) => object) => async () => {
    const entries = (await readAgentView(host, [part]))[part].map(toEntry);
    return { server: host.name, [part]: entries, count: entries.length };
  };
  return new Map<string, () => Promise<object>>([
    [`${HELPERS_PATH}/tools`, list('tools', toTool)],
    [`${HELPERS_PATH}/resources`, list('resources', toResource)],
    [`${HELPERS_PATH}/prompts`, list('prompts', toPrompt)],
    [`${HELPERS_PATH}/scenarios`, () => readAgentView(host, ['scenarios'])],
  ]);
}

function toOverview({ name, version }: SessionHost): object {
  const endpoints = ['tools', 'resources', 'prompts', 'scenarios'].map((part) => [part, `${HELPERS_PATH}/${part}`]);
  return {
    name: 'proctor development helpers',
    server: name,
    version,
    endpoints: Object.fromEntries(endpoints),
    description: 'What an agent sees of this environment. In a browser: a page that uses it by hand.',
  };
}

function toTool({ name, description = '', inputSchema = {}, outputSchema }: JsonObject): object {
  const output = outputSchema === undefined ? {} : { output_schema: outputSchema };
  return { name, description, input_schema: inputSchema, ...output, audience: 'agent' };
}

function toResource({ uri, name, description = '', mimeType = null }: JsonObject): object {
  return { uri, name, description, mime_type: mimeType };
}

function toPrompt({ name, description = '', arguments: args }: JsonObject): object {
  const entries = Array.isArray(args) ? args.filter(isJsonObject) : [];
  const toArgument = (argument: JsonObject) => ({
    name: argument.name,
    description: argument.description ?? '',
    required: argument.required === true,
  });
  return { name, description, arguments: entries.map(toArgument) };
}

function toJson(document: object): Answer {
  const headers = { 'content-type': 'application/json; charset=utf-8', ...PRIVATE };
  return { headers, body: JSON.stringify(document) };
}

interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

function send(response: ServerResponse, { headers, body }: Answer): void {
  response.writeHead(200, headers);
  response.end(body);
}

/** Another site may neither frame nor embed what comes from here. */
const PRIVATE = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;
