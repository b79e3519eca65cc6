import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { messageOf } from '../../contract/errors.ts';
import { configSchema, type ParsedConfig } from './config-schema.ts';

const CONFIG_FILES = ['proctor.config.ts', 'proctor.config.mts', 'proctor.config.js', 'proctor.config.mjs'] as const;

/** Text that changes with the configuration file; empty without a file. Changes of imported modules are not noticed. */
export function configVersion(directory: string): string {
  const name = findConfig(directory);
  if (name === undefined) return '';
  const { mtimeMs, size, ino } = statSync(join(directory, name));
  return [name, mtimeMs, size, ino].join(' ');
}

/**
 * Loads the configuration of a directory. Without a file it is empty.
 *
 * @param version a new value forces a reload, since Node.js caches modules by address.
 * @throws Error with the file and its fault.
 */
export async function loadConfig(directory: string, version = ''): Promise<ParsedConfig> {
  const name = findConfig(directory);
  if (name === undefined) return configSchema.parse({});
  const exported = await importDefault(join(directory, name), name, version);
  const parsed = configSchema.safeParse(exported);
  if (parsed.success) return parsed.data;
  throw new Error(`${name} is not a configuration. ${parsed.error.issues.map(toSentence).join(' ')}`);
}

function findConfig(directory: string): string | undefined {
  return CONFIG_FILES.find((candidate) => existsSync(join(directory, candidate)));
}

function toSentence(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.');
  if (issue.code !== 'unrecognized_keys') return `${place || 'Its default export'}: ${issue.message}.`;
  const names = issue.keys.map((key) => JSON.stringify(key)).join(', ');
  if (place !== '') return `${place} has no ${names}.`;
  return `It has no setting ${names}; there are ${Object.keys(configSchema.shape).join(', ')}.`;
}

async function importDefault(file: string, name: string, version: string): Promise<unknown> {
  // tsx without a namespace, so that the file imports the same copy of this package.
  const unregister = /ts$/.test(name) ? (await import('tsx/esm/api')).register({ tsconfig: false }) : undefined;
  try {
    const loaded: { readonly default?: unknown } = await import(
      `${pathToFileURL(file).href}${version === '' ? '' : `?version=${encodeURIComponent(version)}`}`
    );
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
