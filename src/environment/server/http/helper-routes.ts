import { z } from 'zod';
import { ApiError } from '../../../contract/errors.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { Route, RouteReply } from '../../../support/http/api/route.ts';
import { createOriginGuard } from '../../../support/http/origin-guard.ts';
import { prefersHtml } from '../../../support/http/reply/prefers-html.ts';
import type { SessionHost } from '../session-host.ts';
import { readHelperAsset, renderHelperPage } from './helper-page.ts';
import { readAgentView } from './helper-view.ts';

export const HELPERS_PATH = '/svc';
/** Path of the script and the style sheet of the page. */
const ASSET_PATH = `${HELPERS_PATH}/assets/:name`;

/**
 * The development helpers (contract section 1): they show as JSON what an agent sees of the environment, and serve a
 * page that is a normal MCP client of the endpoint at `mcpPath`. They are served only on loopback and answer only to
 * loopback host names, so that a proxy in front of a local server does not publish them.
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
      // During a shutdown even reads are refused, because they open a session.
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

/** Headers that forbid other sites to frame or embed these replies. */
const PRIVATE = {
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;
