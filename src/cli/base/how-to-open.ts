import { DEFAULT_PORTS } from '../../contract/names.ts';
import { probeServer } from './probe-server.ts';
import { printable } from './terminal.ts';

/** The command that shows these traces. It depends on whether a server runs at the address of the pages. */
export async function howToOpen(traceIds: readonly string[], appUrl: string): Promise<string> {
  const [first] = traceIds;
  const open = `npx proctor open${traceIds.length === 1 ? ` ${first}` : ''}`;
  const found = await probeServer(appUrl);
  if (found.kind === 'proctor') return `To see what happened: ${open}`;
  if (found.kind === 'nothing')
    return `To see what happened: start npx proctor serve in another terminal, then ${open}`;
  const port = DEFAULT_PORTS.runService + 10;
  return `To see what happened: ${appUrl} is not Proctor (${printable(found.description)}), so start npx proctor serve --port ${port} --scenario-port ${port + 1} in another terminal, then ${open} --port ${port}`;
}
