import type { Project } from '../config/project.ts';
import { UsageError } from './failure.ts';
import { localKeyFile, readKey } from './local-key.ts';

/** The key for a service: that of the variable; else the one that the first `proctor serve` of this directory has kept, for a service on this machine. */
export function findKey(project: Project, baseUrl: string): string {
  if (project.settings.apiKey !== undefined) return project.settings.apiKey;
  const isHere = ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(baseUrl).hostname);
  const kept = isHere ? readKey(project) : undefined;
  if (kept !== undefined) return kept;
  const sought = isHere ? ` (there is none in ${localKeyFile(project)})` : '';
  throw new UsageError(
    `Set PROCTOR_API_KEY to a key of ${baseUrl}${sought}: "npx proctor keys create --name ci" makes one there.`,
  );
}
