import type { Command } from 'commander';
import { openPlace } from '../../base/place.ts';
import { print, printJson } from '../../base/terminal.ts';
import { orHint } from './find-trace.ts';
import { addPlaceOptions, type TracesPlaceOptions } from './place-options.ts';

export function addTracesDeleteCommand(traces: Command): void {
  const command = traces
    .command('delete <trace_ids...>')
    .description('Delete traces for good, with their events and images. Their runs have to have ended.');
  addPlaceOptions(command).option('--json', 'print {"deleted"}').action(deleteTraces);
}

async function deleteTraces(
  traceIds: readonly string[],
  { json, ...place }: TracesPlaceOptions & { readonly json?: boolean },
): Promise<void> {
  await using opened = await openPlace(place);
  for (const id of traceIds) {
    await orHint(id, () => opened.client.traces.delete(id));
    if (!json) print(`Deleted ${id}.`);
  }
  if (json) printJson({ deleted: traceIds });
}
