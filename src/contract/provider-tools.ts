/**
 * Tools that a provider runs beside the model, without the dates in their names. A scenario lists the ones it allows in
 * `providerTools`.
 */
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
