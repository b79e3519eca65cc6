import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { messageOf } from '../contract/errors.ts';
import { configSchema, type ParsedConfig } from './config-schema.ts';

const CONFIG_FILES = ['proctor.config.ts', 'proctor.config.mts', 'proctor.config.js', 'proctor.config.mjs'] as const;

/**
 * Loads the configuration of a directory; an empty one where it has none.
 *
 * @throws Error that names the file and what is wrong in it.
 */
export async function loadConfig(directory: string): Promise<ParsedConfig> {
  const name = CONFIG_FILES.find((candidate) => existsSync(join(directory, candidate)));
  if (name === undefined) return configSchema.parse({});
  const exported = await importDefault(join(directory, name), name);
  const parsed = configSchema.safeParse(exported);
  if (parsed.success) return parsed.data;
  throw new Error(`${name} is not a configuration. ${parsed.error.issues.map(toSentence).join(' ')}`);
}

function toSentence(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.');
  if (issue.code !== 'unrecognized_keys') return `${place || 'Its default export'}: ${issue.message}.`;
  const names = issue.keys.map((key) => JSON.stringify(key)).join(', ');
  if (place !== '') return `${place} has no ${names}.`;
  return `It has no setting ${names}; there are ${Object.keys(configSchema.shape).join(', ')}.`;
}

async function importDefault(file: string, name: string): Promise<unknown> {
  // tsx in the loader alone, without a namespace: the file gets the same copy of this package as everybody else.
  const unregister = /ts$/.test(name) ? (await import('tsx/esm/api')).register({ tsconfig: false }) : undefined;
  try {
    const loaded: { readonly default?: unknown } = await import(pathToFileURL(file).href);
    if (loaded.default === undefined) {
      throw new Error('it has no default export; write "export default defineConfig({ ... })"');
    }
    return loaded.default;
  } catch (cause) {
    throw new Error(`${name} could not be loaded: ${reasonOf(cause)}`, { cause });
  } finally {
    await unregister?.();
  }
}

function reasonOf(cause: unknown): string {
  const isCommonJs = cause instanceof Error && 'code' in cause && cause.code === 'ERR_REQUIRE_CYCLE_MODULE';
  if (isCommonJs) return 'its package.json does not say "type": "module"; say so there, or name the file .mts';
  return messageOf(cause).split('\n')[0] ?? '';
}
