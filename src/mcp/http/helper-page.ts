import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { escapeHtml, renderToolForm } from './helper-form.ts';
import { HELPER_SCRIPT } from './helper-script.ts';
import { HELPER_STYLE } from './helper-style.ts';
import type { AgentView } from './helper-view.ts';

export interface ShownServer {
  readonly name: string;
  readonly version: string;
  readonly mcpPath: string;
}

/** The page of the development helpers. Everything that an author wrote is escaped. */
export function renderHelperPage({ name, version, mcpPath }: ShownServer, view: AgentView): string {
  const resources = [
    ...view.resources.map((resource) => ({ ...resource, address: resource.uri ?? '' })),
    ...view.resourceTemplates.map((template) => ({ ...template, address: template.uriTemplate ?? '' })),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(name)} · development helpers</title>
<style>${HELPER_STYLE}</style>
</head>
<body data-mcp="${escapeHtml(mcpPath)}">
<header>
<h1>${escapeHtml(name)} <small>${escapeHtml(version)}</small></h1>
<p>What an agent sees of this environment. Tools are called over <code>${escapeHtml(mcpPath)}</code>, as an agent, in a session of this page. <span class="session" role="status">No session yet.</span> <button type="button" class="renew" hidden>Start a new one</button></p>
<nav><a href="#tools">Tools</a> <a href="#resources">Resources</a> <a href="#prompts">Prompts</a> <a href="#scenarios">Scenarios</a></nav>
</header>
<main>
${section('tools', 'Tools', view.tools.map(renderTool))}
${section('resources', 'Resources', resources.map(renderResource))}
${section('prompts', 'Prompts', view.prompts.map(renderPrompt))}
${section('scenarios', 'Scenarios', view.scenarios.map(renderScenario))}
</main>
<script>${HELPER_SCRIPT}</script>
</body>
</html>
`;
}

function section(id: string, title: string, entries: readonly string[]): string {
  const body = entries.length === 0 ? '<p class="quiet">None.</p>' : entries.join('\n');
  return `<section id="${id}"><h2>${title} <small>${entries.length}</small></h2>\n${body}\n</section>`;
}

function renderTool(tool: JsonObject): string {
  const { name, description, inputSchema, outputSchema } = tool;
  const schema = isJsonObject(inputSchema) ? inputSchema : {};
  return `<article>
<h3>${escapeHtml(name)}</h3>
${paragraph(description)}
${renderToolForm(String(name), schema)}
${schemaOf('Schema of its arguments', schema)}${outputSchema === undefined ? '' : schemaOf('Schema of its result', outputSchema)}
</article>`;
}

function renderResource({ address, name, description, mimeType }: JsonObject): string {
  const kind = typeof mimeType === 'string' ? ` <span class="quiet">${escapeHtml(mimeType)}</span>` : '';
  const label = name === address || name === undefined ? '' : ` ${escapeHtml(name)}`;
  return `<article><h3><code>${escapeHtml(address)}</code>${label}${kind}</h3>${paragraph(description)}</article>`;
}

function renderPrompt({ name, description, arguments: args }: JsonObject): string {
  const entries = Array.isArray(args) ? args.filter(isJsonObject) : [];
  return `<article><h3>${escapeHtml(name)}</h3>${paragraph(description)}${renderArguments(entries)}</article>`;
}

function renderScenario({ name, description, arguments: args, args_schema: schema }: JsonObject): string {
  const entries = Array.isArray(args) ? args.filter(isJsonObject) : [];
  return `<article><h3>${escapeHtml(name)}</h3>${paragraph(description)}${renderArguments(entries)}
${schemaOf('Schema of its arguments', schema)}</article>`;
}

function renderArguments(entries: readonly JsonObject[]): string {
  if (entries.length === 0) return '<p class="quiet">No arguments.</p>';
  const rows = entries.map(({ name, type, required, description }) => {
    const need = required === true ? 'required' : 'optional';
    return `<li><code>${escapeHtml(name)}</code> <span class="quiet">${type === undefined ? '' : `${escapeHtml(type)}, `}${need}</span> ${escapeHtml(description ?? '')}</li>`;
  });
  return `<ul>${rows.join('')}</ul>`;
}

function paragraph(text: unknown): string {
  return typeof text === 'string' && text !== '' ? `<p class="description">${escapeHtml(text)}</p>` : '';
}

function schemaOf(title: string, schema: unknown): string {
  return `<details><summary>${title}</summary><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre></details>`;
}
