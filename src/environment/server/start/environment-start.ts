/**
 * Starts the environment that the command line names. Over stdio it uses the prepared code if possible; otherwise it
 * loads file by file.
 */
import { PROCESS_VARIABLES } from '../../../contract/names.ts';
import { prepareStart } from '../../process/start-cache/prepare-start.ts';

const [, , path] = process.argv;
const prepared = path !== undefined && isOverStdio(process.env) ? await prepareStart(path) : undefined;
if (path === undefined || prepared === undefined) await import('./environment-child.ts');
else await prepared.code.startOverStdio(path, prepared.module).catch(prepared.code.failStart);

function isOverStdio(variables: NodeJS.ProcessEnv): boolean {
  const { transport, developmentFd, hostFd } = PROCESS_VARIABLES;
  const isOther = variables[developmentFd] !== undefined || variables[hostFd] !== undefined;
  return (variables[transport] ?? 'stdio') === 'stdio' && !isOther;
}
