import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { createOriginGuard } from '../../http/origin-guard.ts';
import { prefersHtml } from '../../http/prefers-html.ts';
import type { Route, RouteReply } from '../../http/route.ts';
import type { SessionHost } from '../session-host.ts';
import { readHelperAsset, renderHelperPage } from './helper-page.ts';
import { readAgentView } from './helper-view.ts';

export const HELPERS_PATH = '/svc';
/** Script and style of the page. */
const ASSET_PATH = `${HELPERS_PATH}/assets/:name`;

/**
 * The development helpers (contract section 1): what an agent sees of the environment, as JSON, and a page that is an
 * MCP client of the endpoint at `mcpPath` as any other is. For servers on loopback alone, and asked by a loopback name alone: a
 * proxy in front of a local server does not publish them.
 */
export function createHelperRoutes(host: SessionHost, mcpPath: string, closing: AbortSignal): readonly Route[] {
  const guard = createOriginGuard();
  const toRoute = (path: string, summary: string, answer: Route['handle']): Route => ({
    method: 'GET',
    path,
    summary: `Development helpers: ${summary}`,
    access: 'key',
    response: z.looseObject({}),
    handle(request) {
      guard.check(request.headers);
      // A read, but one that opens a session.
      if (closing.aborted) {
        throw new ApiError('shutting_down', 'This server is shutting down', { headers: { 'retry-after': '5' } });
      }
      return answer(request);
    },
  });
  const asset = toRoute(ASSET_PATH, 'script and style of the page', ({ params, headers }) =>
    readHelperAsset(String(params.name), headers['accept-encoding']),
  );
  return [
    toRoute(HELPERS_PATH, 'overview, and in a browser the page', ({ headers }) =>
      prefersHtml(headers.accept) ? renderHelperPage(HELPERS_PATH, mcpPath) : toReply(toOverview(host)),
    ),
    ...[...createDocuments(host)].map(([part, read]) =>
      toRoute(`${HELPERS_PATH}/${part}`, `${part}, as an agent sees them`, async () => toReply(await read())),
    ),
    { ...asset, about: { contentType: 'text/javascript' } },
  ];
}

function createDocuments(host: SessionHost): ReadonlyMap<string, () => Promise<object>> {
  const list = (part: 'tools' | 'resources' | 'prompts', toEntry: (entry: JsonObject) => object) => async () => {
    const entries = (await readAgentView(host, [part]))[part].map(toEntry);
    return { server: host.name, [part]: entries, count: entries.length };
  };
  return new Map<string, () => Promise<object>>([
    ['tools', list('tools', toTool)],
    ['resources', list('resources', toResource)],
    ['prompts', list('prompts', toPrompt)],
    ['scenarios', () => readAgentView(host, ['scenarios'])],
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

function toReply(body: object): RouteReply {
  return { headers: PRIVATE, body };
}

/** Another site may neither frame nor embed what comes from here. */
const PRIVATE = {
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;
