/** Things that providers do beside the model, by kinds without dates. A scenario names in `providerTools` those that it allows. */
export const PROVIDER_TOOL_KINDS = [
  'web_search',
  'web_fetch',
  'code_execution',
  'mcp',
  'file_search',
  'image_generation',
  'computer',
  'files',
] as const;
export type ProviderToolKind = (typeof PROVIDER_TOOL_KINDS)[number];

export interface ProviderTool {
  /** Null for a tool that is known to nobody here. */
  readonly kind: ProviderToolKind | null;
  /** As the request names it. */
  readonly type: string;
}

/** Beginnings of types, each with its kind. A longer one goes before a shorter one that it begins with. */
const KINDS: readonly (readonly [string, ProviderToolKind])[] = [
  ['web_search', 'web_search'],
  ['google_search', 'web_search'],
  ['enterprise_web_search', 'web_search'],
  ['web_fetch', 'web_fetch'],
  ['url_context', 'web_fetch'],
  ['code_execution', 'code_execution'],
  ['code_interpreter', 'code_execution'],
  ['shell', 'code_execution'],
  ['mcp', 'mcp'],
  ['file_search', 'file_search'],
  ['image_generation', 'image_generation'],
  ['computer', 'computer'],
  ['file', 'files'],
];

/** A tool of a provider, by its type: `web_search_20250305`, `code_interpreter`, `googleSearch`. */
export function toProviderTool(type: string): ProviderTool {
  const name = type.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const found = KINDS.find(([start]) => name === start || name.startsWith(`${start}_`) || name.startsWith(`${start}s`));
  return { kind: found?.[1] ?? null, type };
}

/** Each kind once, however often a request names it. */
export function withoutRepeats(tools: readonly ProviderTool[]): ProviderTool[] {
  return [...new Map(tools.map((tool) => [tool.kind ?? `? ${tool.type}`, tool])).values()];
}
