import { PartReader } from './content-parts.ts';
import type { DialectRequest } from './dialect.ts';
import { withoutRepeats } from './provider-tools.ts';
import { ToolNames } from './tool-names.ts';
import { TranscriptBuilder } from './transcript-builder.ts';

/** Filled by a dialect as it goes over the messages and tools of a request. */
export interface Reading {
  readonly transcript: TranscriptBuilder;
  readonly parts: PartReader;
  readonly names: ToolNames;
}

export function startReading(): Reading {
  return { transcript: new TranscriptBuilder(), parts: new PartReader(), names: new ToolNames() };
}

/** A request in the inner form, once all of it was read. */
export function finishReading(
  { transcript, parts, names }: Reading,
  rest: Pick<DialectRequest, 'dialect' | 'body' | 'model' | 'isStreamed' | 'settings' | 'wantsUsage'>,
): DialectRequest {
  return {
    ...rest,
    messages: transcript.build(),
    tools: names.tools,
    names,
    providerTools: withoutRepeats(parts.providerTools),
    remoteImages: parts.remoteImages,
  };
}
