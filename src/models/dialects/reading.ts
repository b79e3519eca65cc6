import { PartReader } from './content-parts.ts';
import type { DialectRequest } from './dialect.ts';
import { withoutRepeats } from './provider-tools.ts';
import { ToolNames } from './tool-names.ts';
import { TranscriptBuilder } from './transcript-builder.ts';

/** State that a dialect fills while it reads the messages and tools of a request. */
export interface Reading {
  readonly transcript: TranscriptBuilder;
  readonly parts: PartReader;
  readonly names: ToolNames;
}

export function startReading(): Reading {
  return { transcript: new TranscriptBuilder(), parts: new PartReader(), names: new ToolNames() };
}

/** The request in the internal form, after everything was read. */
export function finishReading(
  { transcript, parts, names }: Reading,
  rest: Pick<DialectRequest, 'dialect' | 'body' | 'model' | 'isStreamed' | 'settings' | 'wantsUsage'>,
): DialectRequest {
  return {
    ...rest,
    messages: transcript.build(),
    lostResults: transcript.lostResults,
    tools: names.tools,
    names,
    providerTools: withoutRepeats(parts.providerTools),
    remoteImages: parts.remoteImages,
  };
}
