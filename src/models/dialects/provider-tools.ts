import type { ProviderToolKind } from '../../contract/provider-tools.ts';

export interface ProviderTool {
  /** Null for an unknown tool. */
  readonly kind: ProviderToolKind | null;
  /** Type in the request. */
  readonly type: string;
}

/** Prefixes of types with their kinds. A longer prefix comes before a shorter one that it begins with. */
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

/** Makes a provider tool from its type: `web_search_20250305`, `code_interpreter`, `googleSearch`. */
export function toProviderTool(type: string): ProviderTool {
  const name = type.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const found = KINDS.find(([start]) => name === start || name.startsWith(`${start}_`) || name.startsWith(`${start}s`));
  return { kind: found?.[1] ?? null, type };
}

/** Keeps each kind once. */
export function withoutRepeats(tools: readonly ProviderTool[]): ProviderTool[] {
  return [...new Map(tools.map((tool) => [tool.kind ?? `? ${tool.type}`, tool])).values()];
}
