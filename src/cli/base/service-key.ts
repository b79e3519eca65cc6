import type { Project } from '../../service/config/project.ts';
import { UsageError } from './failure.ts';
import { localKeyFile, readKey } from './local-key.ts';

/**
 * Finds the key for a service: `PROCTOR_API_KEY`, or for a service on this machine the key that `proctor serve`
 * stored in this directory.
 */
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
