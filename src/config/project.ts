import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { config as readDotenv } from 'dotenv';
import { type Agents, createAgents } from '../agents/agents.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import { findEnvironments } from './find-environments.ts';
import { loadConfig } from './load-config.ts';
import { readSettings, type Settings } from './settings.ts';

/** A working directory as Proctor sees it (contract section 5). */
export interface Project {
  readonly directory: string;
  readonly settings: Settings;
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  /** Programs that play scenarios by a loop of their own. */
  readonly agents: Agents;
}

/**
 * Reads `.env` (which never overrides a variable that is set), `proctor.config.ts|js`, the variables, and the
 * environments of a directory.
 *
 * @throws Error that names the file or the variable at fault and what would be right.
 */
export async function loadProject(
  directory: string = process.cwd(),
  variables: NodeJS.ProcessEnv = process.env,
): Promise<Project> {
  loadDotenv(directory, variables);
  const config = await loadConfig(directory);
  const settings = readSettings(variables, config);
  const environments = findEnvironments(directory, config);
  const hidden = ownFolders(directory, settings, environments);
  const agents = createAgents({ entries: config.agents, directory, path: variables.PATH, hidden });
  return { directory, settings, environments, agents };
}

/** Where the answer keys and the traces are: nothing for an agent to read. */
function ownFolders(directory: string, { databaseUrl }: Settings, environments: Project['environments']): string[] {
  const modules = [...environments.values()].flatMap((target) =>
    target.kind === 'module' ? [dirname(target.path)] : [],
  );
  const [, file] = /^sqlite:(?!:memory:)(.+)$/.exec(databaseUrl) ?? [];
  return [directory, ...(file === undefined ? [] : [dirname(resolve(directory, file))]), ...modules];
}

function loadDotenv(directory: string, variables: NodeJS.ProcessEnv): void {
  const path = join(directory, '.env');
  if (!existsSync(path)) return;
  const { error } = readDotenv({ path, quiet: true, processEnv: variables as Record<string, string> }); // Reads and sets texts.
  if (error !== undefined) throw new Error(`.env could not be read: ${error.message}`, { cause: error });
}
