import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../contract/errors.ts';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { createOriginGuard } from '../../http/origin-guard.ts';
import type { SessionHost } from '../session-host.ts';
import { renderHelperPage } from './helper-page.ts';
import { HELPER_SCRIPT } from './helper-script.ts';
import { HELPER_STYLE } from './helper-style.ts';
import { type AgentView, readAgentView } from './helper-view.ts';

export const HELPERS_PATH = '/svc';

export interface HelperRoutes {
  has(pathname: string): boolean;
  /** @throws ApiError */
  answer(pathname: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/**
 * The development helpers (contract section 1): what an agent sees of the environment, as JSON and as a page that calls
 * its tools over the MCP endpoint at `mcpPath`. For servers on loopback alone, and asked by a loopback name alone: a
 * proxy in front of a local server does not publish them.
 */
export function createHelperRoutes(host: SessionHost, mcpPath: string): HelperRoutes {
  const guard = createOriginGuard();
  const documents = createDocuments(host);
  return {
    has: (pathname) => pathname === HELPERS_PATH || documents.has(pathname),
    async answer(pathname, request, response) {
      guard.check(request.headers);
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const headers = { allow: 'GET, HEAD' };
        throw new ApiError('method_not_allowed', `${request.method} is not allowed on ${pathname}: GET`, { headers });
      }
      const document = documents.get(pathname);
      if (document !== undefined) sendJson(response, await document());
      else if (!prefersHtml(request.headers.accept)) sendJson(response, toOverview(host));
      else
        sendPage(response, renderHelperPage({ name: host.name, version: host.version, mcpPath }, await viewAll(host)));
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

function viewAll(host: SessionHost): Promise<AgentView> {
  return readAgentView(host, ['tools', 'resources', 'resourceTemplates', 'prompts', 'scenarios']);
}

function toOverview({ name, version }: SessionHost): object {
  const endpoints = ['tools', 'resources', 'prompts', 'scenarios'].map((part) => [part, `${HELPERS_PATH}/${part}`]);
  return {
    name: 'proctor development helpers',
    server: name,
    version,
    endpoints: Object.fromEntries(endpoints),
    description: 'What an agent sees of this environment. In a browser: a page that shows it and calls its tools.',
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

/** True where HTML is named before JSON, as browsers do; what takes anything gets JSON. */
function prefersHtml(accept = ''): boolean {
  const weights = accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return [type, quality === undefined ? 1 : Number(quality)] as const;
  });
  const weightOf = (type: string) => weights.find(([name]) => name === type)?.[1] ?? 0;
  return weightOf('text/html') > weightOf('application/json');
}

function sendJson(response: ServerResponse, document: object): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', ...PRIVATE });
  response.end(JSON.stringify(document));
}

function sendPage(response: ServerResponse, html: string): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': CSP, ...PRIVATE });
  response.end(html);
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

const CSP = [
  "default-src 'none'",
  `script-src ${hashOf(HELPER_SCRIPT)}`,
  `style-src ${hashOf(HELPER_STYLE)}`,
  "connect-src 'self'",
  'img-src data:',
  'media-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function hashOf(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
